package hostwatch

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// pageIn reads a file through its mapping, again and again from the disk.
func pageIn() {
	const size = 16 << 20
	f, err := os.CreateTemp(".", "paged") // temporary files may be in memory
	if err == nil {
		_ = os.Remove(f.Name()) // it goes with the process
		_, err = f.Write(make([]byte, size))
	}
	if err == nil {
		err = f.Sync()
	}
	var mem []byte
	if err == nil {
		mem, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	}
	for sum := new(atomic.Uint32); err == nil; {
		err = unix.Madvise(mem, unix.MADV_PAGEOUT)
		for at := 0; at < size; at += 4096 {
			sum.Add(uint32(mem[at]))
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestPaged: the time in which a process stands still for its pages is
// host.fault, and a pause is told of it.
func TestPaged(t *testing.T) {
	l := &log{}
	w := start(t, Options{PID: child(t, "page", -1)}, l)
	for since := time.Now(); w.Totals().Paged == 0 && time.Since(since) < 3*time.Minute; {
		if w.Totals().MajorFaults == 0 && time.Since(since) > 20*time.Second {
			t.Skip("no page came from disk: the files are in memory here")
		}
		time.Sleep(50 * time.Millisecond) // it writes its file first
	}
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	total := w.Totals()
	t.Logf("%d major faults, paged %v, denied %v, covered %v", total.MajorFaults, total.Paged, total.Denied, total.Covered)
	if total.Paged == 0 {
		t.Fatal("no time is host.fault")
	}
	for i := range l.batches {
		b := &l.batches[i]
		d := w.During(b.Span)
		// Of many intervals a batch holds the longest.
		if got, ok := d.PageWait.Get(); ok && (got < paged(b) || got > paged(b) && len(b.Denied) < maxPieces) {
			t.Errorf("in %v: waited %v for pages, the intervals say %v", b.Span, got, paged(b))
		}
		if d.PageWait.Or(0)+d.CPUWait.Or(0) > b.Span.Duration() {
			t.Errorf("in %v: more than all of it: %+v", b.Span, d)
		}
	}
}

// paged sums the time of a batch that is host.fault.
func paged(b *Observations) (sum time.Duration) {
	for _, v := range b.Denied {
		if v.Cause == stall.HostFault {
			sum += v.Duration()
		}
	}
	return sum
}
