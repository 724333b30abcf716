package main

import (
	"runtime/debug"
	"sort"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// matchSlack is how far outside of a collection's last pause the runtime's end
// of it may lie, which is a wall time.
const matchSlack = 100 * time.Microsecond

// runtimeCycle is one collection as the runtime tells of it.
type runtimeCycle struct {
	index uint64
	pause time.Duration
	end   stall.Instant
}

// tally compares the collections of one load.
type tally struct {
	name    string
	clock   stall.Clock
	monitor *otelgc.Monitor
	stats   debug.GCStats
	runtime []runtimeCycle // in order
	numGC   int64
	after   uint64 // index of the last collection that was looked at

	seen, unmatched, renumbered int
	lost                        int64     // cycles that the runtime's ring had forgotten
	excess                      []float64 // exact pauses minus the runtime's sum, us
	window                      []float64 // the same of what lies between EvSTWBegin and EvSTWEnd
	atEnd, atBegin              []float64 // the parts of that after the runtime's last end, and before its begins, us
	heapError                   []float64 // (estimate - exact) / exact
}

func newTally(name string, clock stall.Clock, m *otelgc.Monitor) *tally {
	t := &tally{name: name, clock: clock, monitor: m}
	debug.ReadGCStats(&t.stats)
	t.numGC, t.after = t.stats.NumGC, uint64(t.stats.NumGC)
	return t
}

// look takes in what is new.
func (t *tally) look() {
	t.readRuntime()
	list, dropped := t.monitor.Collections(t.after)
	t.lost += int64(dropped)
	for i := range list {
		c := &list[i]
		t.after = c.Index
		t.seen += c.Cycles
		if c.Fidelity == stall.Exact {
			t.compare(c)
		}
	}
}

// readRuntime appends the collections that have ended since the last look.
func (t *tally) readRuntime() {
	debug.ReadGCStats(&t.stats)
	wall := t.clock.Wall().Offset
	fresh := t.stats.NumGC - t.numGC
	kept := min(fresh, int64(len(t.stats.Pause)))
	t.lost += fresh - kept
	for i := kept - 1; i >= 0; i-- {
		t.runtime = append(t.runtime, runtimeCycle{
			index: uint64(t.stats.NumGC - i),
			pause: t.stats.Pause[i],
			end:   stall.Instant(t.stats.PauseEnd[i].UnixNano() - int64(wall)),
		})
	}
	t.numGC = t.stats.NumGC
}

// compare finds what the runtime says of c, by the time at which it ended.
func (t *tally) compare(c *gc.Collection) {
	last := c.Pauses[len(c.Pauses)-1]
	i := sort.Search(len(t.runtime), func(i int) bool { return t.runtime[i].end >= last.Start.Add(-matchSlack) })
	if i == len(t.runtime) || t.runtime[i].end > last.EndMax.Add(matchSlack) {
		t.unmatched++
		return
	}
	if t.runtime[i].index != c.Index {
		t.renumbered++
	}
	t.excess = append(t.excess, micro(c.PauseTotal()-t.runtime[i].pause))
	window := -t.runtime[i].pause
	for _, p := range c.Pauses {
		window += p.EndMax.Sub(p.Start)
	}
	t.window = append(t.window, micro(window))
	// EvGCEnd, which c.End is, is the last event before the runtime reads the clock
	// for the end of its pause (runtime/mgc.go, gcMarkTermination, Go 1.26).
	if end, ok := c.End.Get(); ok {
		after := last.EndMax.Sub(end)
		t.atEnd = append(t.atEnd, micro(after))
		t.atBegin = append(t.atBegin, micro(window-after))
	}
	t.compareHeap(c)
}

func micro(d time.Duration) float64 { return float64(d) / 1e3 }

// compareHeap finds how wrong cycle fidelity would have been on the heap before
// c: it takes the goal that was in force.
func (t *tally) compareHeap(c *gc.Collection) {
	goal, ok := c.Goal.Get()
	before, known := c.HeapBefore.Get()
	if !ok || !known || before == 0 || c.Trigger != gc.TriggerHeap || c.Estimated.Has(gc.FieldHeapBefore) {
		return
	}
	t.heapError = append(t.heapError, (float64(goal)-float64(before))/float64(before))
}
