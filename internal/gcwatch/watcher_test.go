package gcwatch

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestFlushKnowsForcedCycle(t *testing.T) {
	settle(t)
	var j journal
	w, err := Start(Options{Clock: newClock(t), Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	w.Flush()
	runtime.GC()
	w.Flush()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.collections) != 1 {
		t.Fatalf("collections: got %d, want 1", len(j.collections))
	}
	c := j.collections[0]
	if c.Trigger != gc.TriggerForced || c.Cycles != 1 || c.Origin != stall.GCWatch || c.Fidelity != stall.Cycle {
		t.Errorf("got %+v", c)
	}
	if want := KindOf(os.Getenv("GODEBUG")); c.Kind != want {
		t.Errorf("kind: got %v, want %v", c.Kind, want)
	}
	if v, ok := c.Promoted.Get(); !ok || v == 0 {
		t.Error("promoted bytes: not known")
	}
	if !c.Estimated.Has(gc.FieldHeapBefore | gc.FieldPauses) {
		t.Errorf("estimated: got %v", c.Estimated.Names())
	}
	if runtime.GOOS == "linux" && c.PauseUtilization.IsZero() {
		t.Error("pause utilization: not known")
	}
	if c.PauseTotal() <= 0 {
		t.Error("pause total: zero")
	}
}

func TestSuspensionIsEnclosed(t *testing.T) {
	settle(t)
	clock := newClock(t)
	var j journal
	w, err := Start(Options{Clock: clock, Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	w.Flush()
	from := clock.Now()
	const stops = 5
	for range stops {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
	}
	to := clock.Now()
	w.Stop()
	if len(j.suspensions) != stops {
		t.Fatalf("suspensions: got %d, want %d", len(j.suspensions), stops)
	}
	for _, s := range j.suspensions {
		if s.Cause != stall.RuntimeSuspension || s.Start.Add(-s.Slack) > from || s.End.Add(s.Slack) < to {
			t.Errorf("got %+v, want one that reaches from %d to %d with its slack", s, from, to)
		}
	}
}

func TestStop(t *testing.T) {
	settle(t)
	var j journal
	w, err := Start(Options{Clock: newClock(t), Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	first := cyclesTotal()
	runtime.GC()
	w.Stop()
	if got, want := j.cycles, cyclesTotal()-first; got != want {
		t.Errorf("cycles: got %d, want %d", got, want)
	}
	n := j.notices
	w.Stop()
	w.Flush()
	for range 3 {
		runtime.GC()
	}
	if j.notices != n {
		t.Errorf("notices after Stop: got %d, want none", j.notices-n)
	}
	if got := len(w.bell.rung); got > 1 {
		t.Errorf("rings: got %d", got)
	}
}

func TestStartRefuses(t *testing.T) {
	note := func(*Notice) {}
	for _, o := range []Options{{}, {OnNotice: note}, {Clock: newClock(t)}, {Clock: newClock(t), OnNotice: note, Poll: -1}} {
		if w, err := Start(o); err == nil {
			w.Stop()
			t.Errorf("Start(%+v): no error", o)
		}
	}
}
