package gotrace

import (
	"cmp"
	"iter"
	"slices"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Cycle is one collection as its EvGCBegin and EvGCEnd say: from shortly before
// the sweep termination stop to within the last mark termination stop, which ends
// after End.
type Cycle struct {
	// Sequence is the trace's own number of the event that the cycle was
	// first seen by; it grows, by two or more from cycle to cycle.
	Sequence uint64
	Begin    stall.Instant // zero if BeginUnknown
	// Active is when a generation first found the cycle running already, at
	// its start or the trace's; zero if none did.
	Active stall.Instant
	End    stall.Instant // zero if Partial
	// HeapBefore is the last EvHeapAlloc before Begin, Goal the last
	// EvHeapGoal before it, HeapAfter the last EvHeapAlloc before End: the
	// bytes marked live. There is no Goal with GOGC=off: the runtime then
	// writes 0, whatever the memory limit (runtime/traceruntime.go, HeapGoal).
	HeapBefore, Goal, HeapAfter gc.Maybe[gc.Bytes]
	Trigger                     gc.Trigger // unknown if BeginUnknown
	// TriggerSite is the function whose allocation, or whose runtime.GC, began
	// the cycle: the innermost one outside package runtime, or the outermost.
	TriggerSite  string
	Goroutine    uint64 // that began it
	BeginUnknown bool   // the trace began within the cycle
	Partial      bool   // its end was not seen: the stream has a hole
}

// Collection returns c with its pauses, and whether that is all of it. There can be more
// pauses than two, since mark termination may have been retried.
func (c *Cycle) Collection(pauses []gc.Pause) (_ gc.Collection, whole bool) {
	known := func(t stall.Instant) (m gc.Maybe[stall.Instant]) {
		if t != 0 {
			m = gc.Known(t)
		}
		return m
	}
	n := len(pauses)
	return gc.Collection{
		Cycles: 1, Kind: gc.Background, Trigger: c.Trigger, TriggerSite: c.TriggerSite, Pauses: slices.Clone(pauses),
		Start: known(c.Begin), End: known(c.End),
		HeapBefore: c.HeapBefore, HeapAfter: c.HeapAfter, Promoted: c.HeapAfter, Goal: c.Goal,
		Origin: stall.GoTrace, Fidelity: stall.Exact,
	}, !c.BeginUnknown && !c.Partial && n >= 2 && pauses[0].Phase == gc.SweepTermination && pauses[n-1].Phase == gc.MarkTermination
}

// InOrder yields the stops, and the cycles as they end, in the order of time: one of each
// pair is nil. A stop for garbage collection is of the cycle that ends next.
func InOrder(stops []Stop, cycles []Cycle) iter.Seq2[*Stop, *Cycle] {
	return func(yield func(*Stop, *Cycle) bool) {
		for i := range stops {
			for ; len(cycles) > 0 && cycles[0].End < stops[i].Start; cycles = cycles[1:] {
				if !yield(nil, &cycles[0]) {
					return
				}
			}
			if !yield(&stops[i], nil) {
				return
			}
		}
		for i := range cycles {
			if !yield(nil, &cycles[i]) {
				return
			}
		}
	}
}

// cycleEdge is one of EvGCBegin, EvGCActive, EvGCEnd. They happen on any
// thread; their sequence number puts them in order.
type cycleEdge struct {
	typ   eventType
	seq   uint64
	at    ticks
	g     uint64
	stack uint64
}

func (d *decoder) cycleEdge(e cycleEdge) {
	if len(d.cycles) < d.limits.Records {
		d.cycles = append(d.cycles, e)
	} else {
		d.lost.Cycles++
	}
}

// openCycle is the collection that runs, across generations.
type openCycle struct {
	open bool
	Cycle
}

// resolveCycles turns the edges into the generation's Cycles. The heap samples
// must be in order by now.
func (d *decoder) resolveCycles(g *Generation) {
	slices.SortStableFunc(d.cycles, func(a, b cycleEdge) int { return cmp.Compare(a.seq, b.seq) })
	for i := range d.cycles {
		e := &d.cycles[i]
		switch e.typ {
		case evGCBegin:
			d.dropOpenCycle(g)
			d.cycle = d.beginCycle(e)
		case evGCActive:
			if !d.cycle.open {
				d.cycle = unknownCycle(e.seq)
			}
			if d.cycle.Active == 0 {
				d.cycle.Active = d.clock.instant(e.at)
			}
		case evGCEnd:
			if !d.cycle.open {
				d.cycle = unknownCycle(e.seq)
			}
			d.cycle.End = max(d.cycle.Begin, d.cycle.Active, d.clock.instant(e.at))
			d.cycle.HeapAfter = d.heap.before(e.at)
			g.Cycles = append(g.Cycles, d.cycle.Cycle)
			d.cycle = openCycle{}
		}
	}
	d.noteCollections(g)
}

func (d *decoder) beginCycle(e *cycleEdge) openCycle {
	stack := d.frames(e.stack)
	site, _ := callerOf(stack)
	return openCycle{true, Cycle{
		Sequence:    e.seq,
		Begin:       d.clock.instant(e.at),
		HeapBefore:  d.heap.before(e.at),
		Goal:        d.goalAt(e.at),
		Trigger:     triggerOf(stack),
		TriggerSite: site,
		Goroutine:   e.g,
	}}
}

// goalAt returns the goal in force at t, if there was one. Runtimes before the
// fix of go.dev/issue/63864 wrote what remains of a memory limit that is not set,
// instead of 0.
func (d *decoder) goalAt(t ticks) gc.Maybe[gc.Bytes] {
	const unlimited = 1 << 62
	goal := d.goals.before(t)
	if v := goal.Or(0); v == 0 || v >= unlimited {
		return gc.Maybe[gc.Bytes]{}
	}
	return goal
}

func unknownCycle(seq uint64) openCycle {
	return openCycle{true, Cycle{Sequence: seq, BeginUnknown: true, Trigger: gc.TriggerUnknown}}
}

// dropOpenCycle reports a cycle whose end will never be seen.
func (d *decoder) dropOpenCycle(g *Generation) {
	if !d.cycle.open {
		return
	}
	d.cycle.Partial = true
	g.Cycles = append(g.Cycles, d.cycle.Cycle)
	d.cycle = openCycle{}
}

// triggerOf reads the trigger off the stack of EvGCBegin.
func triggerOf(stack []string) gc.Trigger {
	if len(stack) == 0 {
		return gc.TriggerUnknown
	}
	for _, f := range stack {
		switch f {
		case "runtime.GC":
			return gc.TriggerForced
		case "runtime.forcegchelper":
			return gc.TriggerPeriodic
		}
	}
	return gc.TriggerHeap
}
