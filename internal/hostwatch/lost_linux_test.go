package hostwatch

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// TestLostEvents lets the ring overflow: nothing of that time is covered, and
// the watch finds back.
func TestLostEvents(t *testing.T) {
	l := &log{more: make(chan struct{}, 1)}
	pid := child(t, "toss", -1)
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{
		o:       Options{PID: pid, Clock: clock, MaxThreads: 100, Threshold: DefaultThreshold, OnBatch: l.add},
		process: p, timeline: newTimeline(100, DefaultThreshold),
	}
	if w.follow(); w.scheduler == nil {
		t.Skipf("the scheduler cannot be followed here: %v", w.why)
	}
	defer func() {
		if err := w.detach(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		var drops [8]byte
		if err := w.scheduler.drops.Lookup(uint32(0), drops[:]); err != nil {
			t.Fatal(err)
		}
		if binary.NativeEndian.Uint64(drops[:]) > w.dropped {
			break
		}
		if time.Now().After(deadline) {
			t.Skip("the ring did not overflow: the machine is too busy")
		}
		time.Sleep(time.Millisecond)
	}
	if err := w.batch(); err != nil {
		t.Fatal(err)
	}
	b := l.batches[0]
	if b.Totals.Dropped == 0 || len(b.Covered) != 0 || len(b.Denied) != 0 || b.Span.Empty() {
		t.Errorf("batch with lost events, %v: %d denied, %d covered, %+v", b.Span, len(b.Denied), len(b.Covered), b.Totals)
	}
	for time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		if err := w.batch(); err != nil {
			t.Fatal(err)
		}
		if l.batches[len(l.batches)-1].Totals.Covered > 0 {
			return
		}
	}
	t.Error("nothing is covered after events were lost once")
}
