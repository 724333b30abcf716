package otelgc

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/stall"
)

// TestTargetWatch: what a source of scope target says of this very process, and
// of no other, is evidence; and windows wait for it while it comes.
func TestTargetWatch(t *testing.T) {
	path := t.TempDir() + "/otelgc/board"
	clock := testClock(t)
	h := newTestBoardSource(path, clock)
	h.fail = func(err error) { t.Errorf("said: %v", err) }
	w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	here := board.Here()
	own := stall.Owner{PID: here.PID, Created: here.Created}
	at := clock.Now()
	watched := func(from, to stall.Instant, o stall.Owner) {
		t.Helper()
		v := stall.Interval{Start: at + from, End: at + to, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: o}
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	watched(1000, 2000, own)
	watched(1000, 9000, stall.Owner{PID: here.PID + 1, Created: here.Created})
	watched(1000, 9000, stall.Owner{PID: here.PID, Created: here.Created + 1})
	watched(2000, 3000, own)
	watched(5000, 6000, own)
	watched(8000, 8000, own) // it is there, and sure of nothing
	if err := w.Append(stall.Interval{Start: at + 1500, End: at + 1600, Cause: stall.HostPreempted, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: own}); err != nil {
		t.Fatal(err)
	}
	w.Advance(at+10_000, 0, 0)
	h.readOnce(t)

	all := stall.Span{Start: 0, End: at + 20_000}
	want := []stall.Span{{Start: at + 1000, End: at + 3000}, {Start: at + 5000, End: at + 6000}}
	if diff := cmp.Diff(want, h.target.log.Seen(nil, all)); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	if got := h.log.Intervals(nil, all); len(got) != 1 || got[0].Cause != stall.HostPreempted {
		t.Errorf("stalls: got %+v, want the one", got)
	}
	if got := h.log.Watermark(); got != at+8000 {
		t.Errorf("watermark: got %d, want that of the watch, %d", got-at, 8000)
	}
	late := at + 8000 + stall.Instant(2*targetLag)
	w.Advance(late, 0, 0)
	h.readOnce(t)
	if got := h.log.Watermark(); got != late {
		t.Errorf("watermark with a watch that has ended: got %d, want the board's, %d", got-at, late-at)
	}

	m := &Monitor{clock: clock, store: newTraceStore(at, clock, newSlots(nil)), host: h}
	m.timeline = m.store.timeline
	e := evidence{m: m}
	e.gather(all)
	window := stall.Window{Start: at + 1200, End: at.Add(time.Second)}
	got := e.of(&window, noSlot, stall.Span{}, new(carrier)).TargetSeen
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence about a window (-want +got):\n%s", diff)
	}
}
