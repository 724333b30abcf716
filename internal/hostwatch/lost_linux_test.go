package hostwatch

import (
	"os"
	"testing"
	"time"
)

// TestLostEvents lets the ring overflow: nothing of that time is covered, and
// the watch finds back.
func TestLostEvents(t *testing.T) {
	l := &log{more: make(chan struct{}, 1)}
	pid := child(t, "toss", -1)
	w := still(t, pid, os.DirFS("/"))
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		lost, err := w.scheduler.lost()
		if err != nil {
			t.Fatal(err)
		}
		if lost > w.dropped {
			break
		}
		if time.Now().After(deadline) {
			t.Skip("the ring did not overflow: the machine is too busy")
		}
		time.Sleep(time.Millisecond)
	}
	if err := w.look(); err != nil {
		t.Fatal(err)
	}
	l.add(&w.seen)
	b := l.batches[0]
	if b.Totals.Dropped == 0 || len(b.Covered) != 0 || len(b.Denied) != 0 || b.Span.Empty() {
		t.Errorf("batch with lost events, %v: %d denied, %d covered, %+v", b.Span, len(b.Denied), len(b.Covered), b.Totals)
	}
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
		l.add(&w.seen)
		if l.batches[len(l.batches)-1].Totals.Covered > 0 {
			return
		}
	}
	t.Error("nothing is covered after events were lost once")
}
