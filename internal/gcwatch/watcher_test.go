package gcwatch

import (
	"context"
	"errors"
	"io"
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
	w := start(t, Options{Clock: newClock(t), Poll: time.Hour})
	defer w.Close()
	j.look(t, w)
	runtime.GC()
	j.look(t, w)
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
	w := start(t, Options{Clock: clock, Poll: time.Hour})
	defer w.Close()
	j.look(t, w)
	from := clock.Now()
	const stops = 5
	for range stops {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
	}
	to := clock.Now()
	j.look(t, w)
	if len(j.suspensions) != stops {
		t.Fatalf("suspensions: got %d, want %d", len(j.suspensions), stops)
	}
	for _, s := range j.suspensions {
		if s.Cause != stall.RuntimeSuspension || s.Start.Add(-s.Slack) > from || s.End.Add(s.Slack) < to {
			t.Errorf("got %+v, want one that reaches from %d to %d with its slack", s, from, to)
		}
	}
}

// TestClose: what came before Close is in the batches after it, and then it is over.
func TestClose(t *testing.T) {
	settle(t)
	var j journal
	w := start(t, Options{Clock: newClock(t), Poll: time.Hour})
	first := cyclesTotal()
	runtime.GC()
	follow(t, w, 0, j.note)()
	if got, want := j.cycles, cyclesTotal()-first; got != want {
		t.Errorf("cycles: got %d, want %d", got, want)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	w.Flush()
	for range 3 {
		runtime.GC()
	}
	if _, err := w.Next(t.Context()); err != io.EOF {
		t.Errorf("next after the end: got %v, want io.EOF", err)
	}
	if got := len(w.bell.rung); got > 1 {
		t.Errorf("rings: got %d", got)
	}
}

// TestNextIsCancelled: whoever gives up loses nothing by it.
func TestNextIsCancelled(t *testing.T) {
	settle(t)
	var j journal
	w := start(t, Options{Clock: newClock(t), Poll: time.Hour})
	defer w.Close()
	j.look(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("next: got %v, want %v", err, context.Canceled)
	}
	runtime.GC()
	j.look(t, w)
	if len(j.collections) != 1 {
		t.Errorf("collections: got %d, want 1", len(j.collections))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{}, {Clock: newClock(t), Poll: -1}} {
		if w, err := New(o); err == nil {
			w.Close()
			t.Errorf("New(%+v): no error", o)
		}
	}
}
