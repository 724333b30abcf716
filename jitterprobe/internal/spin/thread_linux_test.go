//go:build (amd64 || arm64) && !noasm

package spin

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMemoryStaysUnderAThread gives up on a thread that does not end: its memory is
// still mapped. That of one that has ended is not.
func TestMemoryStaysUnderAThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, ends := range []bool{false, true} {
		mem, err := unix.Mmap(-1, 0, recordsAt+2*int(unsafe.Sizeof(Record{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		control := (*Control)(unsafe.Pointer(&mem[0]))
		records := unsafe.Slice((*Record)(unsafe.Pointer(&mem[recordsAt])), 2)
		thread := &Thread{Ring: NewRing(control, records), mem: mem, tid: 1<<22 + 1} // nobody
		if !ends {
			thread.tid, control.Tid = unix.Gettid(), 1
		}
		why := errors.New("no such CPU")
		if err := thread.giveUp(why, time.Millisecond); !errors.Is(err, why) {
			t.Errorf("ends %v: got error %v, want %v", ends, err, why)
		}
		if err := unix.Munmap(mem); (err == nil) == ends {
			t.Errorf("ends %v: unmap once more: %v", ends, err)
		}
	}
}

// startThread starts a thread of the loop on a CPU that this process may use, which
// notes what takes threshold ticks or more. The test ends it by end.
func startThread(t *testing.T, threshold uint64, records int) (thread *Thread, end func()) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	thread, err := Start(cpu, threshold, records)
	if err != nil {
		t.Fatal(err)
	}
	return thread, func() {
		t.Helper()
		if !thread.Halt(time.Minute) {
			t.Fatal("the thread did not end")
		}
		if err := unix.Tgkill(os.Getpid(), thread.ID(), 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("the thread after its end: got %v, want %v", err, unix.ESRCH)
		}
	}
}

// await returns when word is another than before.
func await(word *uint64, before uint64) {
	for atomic.LoadUint64(word) == before {
		time.Sleep(100 * time.Microsecond)
	}
}

// TestThreadNotesItsStall: the loop begins when it is told to, goes on, and notes that
// it stalled. It needs no counter that can be trusted, so it runs where no probe spins.
func TestThreadNotesItsStall(t *testing.T) {
	from, began := Now(), time.Now()
	time.Sleep(time.Millisecond)
	length, threshold := time.Since(began), (Now()-from)/4
	thread, end := startThread(t, threshold, 64)
	if p := thread.Pulse(); p != (Pulse{}) {
		t.Errorf("before Begin: got pulse %+v, want none", p)
	}
	thread.Begin()
	await(&thread.Last, 0)
	await(&thread.Last, atomic.LoadUint64(&thread.Last))

	const stall = 2 // of Control.Stop
	thread.Sleep = [2]int64{int64(length / time.Second), int64(length % time.Second)}
	atomic.StoreUint64(&thread.Stop, stall)
	await(&thread.Stop, stall)
	await(&thread.Last, atomic.LoadUint64(&thread.Last))
	end()
	stamps := thread.Stamps
	if slept := time.Duration((stamps[1][0]-stamps[0][0])*1e9 + stamps[1][1] - stamps[0][1]); slept < length {
		t.Errorf("the stall took %v by its stamps, want %v or more", slept, length)
	}
	p := thread.Pulse()
	if p.Head == 0 || p.Iters < BlockLen {
		t.Errorf("got pulse %+v, want a gap, and iterations", p)
	}
	last := p.First
	thread.Drain(p.Head, func(r Record) {
		if r.From < last || r.To-r.From < threshold {
			t.Errorf("record %+v, want one from %d on of %d ticks or more", r, last, threshold)
		}
		last = r.To
	})
	if err := thread.Release(); err != nil {
		t.Error(err)
	}
}

// TestThreadFillsItsRing: where every read is a gap, the records are those of the
// first reads, in order and without a hole, and all others count as dropped.
func TestThreadFillsItsRing(t *testing.T) {
	thread, end := startThread(t, 0, 8)
	thread.Begin()
	await(&thread.Drops, 0)
	end()
	p := thread.Pulse()
	if p.Head != 8 || p.Head+p.Drops != p.Iters || p.Whole != 0 {
		t.Errorf("pulse %+v, want 8 records, and all other iterations dropped", p)
	}
	last := thread.First
	thread.Drain(p.Head, func(r Record) {
		if r.From != last || r.To < r.From {
			t.Errorf("record %+v, want one from %d on", r, last)
		}
		last = r.To
	})
	if got := atomic.LoadUint64(&thread.Last); last+p.DropTicks != got || p.DropMax > p.DropTicks || p.DropMax*p.Drops < p.DropTicks {
		t.Errorf("%d, and %d ticks dropped %d times (%d the most), want %d in all", last, p.DropTicks, p.Drops, p.DropMax, got)
	}
	if err := thread.Release(); err != nil {
		t.Error(err)
	}
}
