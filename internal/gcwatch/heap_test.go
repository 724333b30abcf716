package gcwatch

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var kept [][]byte

// TestHeapBeforeAForcedCycle lets the heap grow while only polls come, and then
// forces a collection: what was allocated before the last poll counts, too.
func TestHeapBeforeAForcedCycle(t *testing.T) {
	settle(t) // GOGC=off: there is no goal, and no goal may be told
	t.Cleanup(func() { kept = nil })
	w := steady(t)
	grow := func(n int) {
		for range n {
			kept = append(kept, make([]byte, 1<<20))
			w.look()
		}
	}
	for _, first := range []string{"the first after New", "one that followed a cycle"} {
		grow(32)
		want := objectsNow()
		runtime.GC()
		w.look()
		c := w.batch.Collections[len(w.batch.Collections)-1]
		if got, ok := c.HeapBefore.Get(); !ok || got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: heap before %d, known %v, want about %d", first, got, ok, want)
		}
		if goal, ok := c.Goal.Get(); ok {
			t.Errorf("%s: goal %d, want none with GOGC=off", first, goal)
		}
	}
}

// TestHeapBeforeByTrigger: the goal stands for the heap where an allocation
// began the cycle, and nowhere else.
func TestHeapBeforeByTrigger(t *testing.T) {
	const left, goal, grown = 100, 200, 120
	for _, c := range []struct {
		name    string
		trigger gc.Trigger
		since   time.Duration
		goal    gc.Bytes
		want    gc.Bytes
	}{
		{"by an allocation", gc.TriggerAutomatic, time.Second, goal, goal},
		{"forced", gc.TriggerForced, time.Second, goal, grown},
		{"forced above the goal", gc.TriggerForced, time.Second, left + 1, left + 1},
		{"after two idle minutes", gc.TriggerAutomatic, periodicAfter, goal, grown},
		{"without a goal a moment ago", gc.TriggerAutomatic, time.Second, noGoal, grown},
	} {
		const end = stall.Instant(1e12)
		w := &Watcher{
			prev: &reading{goal: c.goal}, cur: &reading{allocBytes: 5000 + grown - left},
			left: heapLeft{left, 5000, end.Add(-c.since)}, lastEnd: end,
		}
		if got := w.heapBefore(c.trigger); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestGoalThatIsTakenAway turns the collector off and on while it is watched.
func TestGoalThatIsTakenAway(t *testing.T) {
	settle(t)
	w := steady(t)
	debug.SetGCPercent(100)
	allocate(1)
	w.look()
	for _, c := range w.batch.Collections {
		if before := c.HeapBefore.Or(0); before >= noGoal {
			t.Errorf("heap before: %d bytes", before)
		}
	}
}
