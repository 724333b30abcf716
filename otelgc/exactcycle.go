package otelgc

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// exactStop is a stop of the world.
type exactStop struct {
	stall.Span
	over   stall.Instant // for others than who made it, at most End
	gc     bool
	phase  gc.Phase
	reason string
	caller string
}

// exactCycle is one collection with its stops.
type exactCycle struct {
	gotrace.Cycle
	stops []exactStop
	whole bool // every stop of it was seen
}

// restarting returns the part of the last pause in which the world was being
// restarted: from the end of the collection, behind which the runtime stamps that
// of the pause, until a goroutine of others ran.
func (c *exactCycle) restarting() time.Duration {
	last := &c.stops[len(c.stops)-1]
	if c.End < last.Start {
		return 0
	}
	return max(0, last.over.Sub(c.End))
}

const (
	keptCycles = 4096
	keptStops  = 4096
)

// learnCycle gives a collection all stops since the one before it: the last is
// the one in which it ended, and there can be more than two, since mark
// termination may have been retried.
func (b *traceStore) learnCycle(c *gotrace.Cycle) {
	if c.Partial {
		b.stops = b.stops[:0]
		return
	}
	n := 0
	for n < len(b.stops) && b.stops[n].Start <= c.End {
		n++
	}
	e := exactCycle{Cycle: *c, stops: slices.Clone(b.stops[:n])}
	b.stops = slices.Delete(b.stops, 0, n)
	e.whole = !c.BeginUnknown && n >= 2 &&
		e.stops[0].phase == gc.SweepTermination && e.stops[n-1].phase == gc.MarkTermination
	b.cycles = append(b.cycles, e)
}

// bound keeps the memory of what nobody asks for.
func (b *traceStore) bound() {
	if n := len(b.stops) - keptStops; n > 0 {
		b.stops = slices.Delete(b.stops, 0, n)
	}
	if n := len(b.cycles) - keptCycles; n > 0 {
		b.cycles = slices.Delete(b.cycles, 0, n)
	}
}

// takeCycle returns the collection whose last stop holds at, or is nearest to it
// within slack, and forgets it and those before it. One that is nearer to next,
// where the collection after it ended, is not the one.
func (b *traceStore) takeCycle(at, next, slack stall.Instant) (exactCycle, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	best, distance := -1, slack+1
	for i := range b.cycles {
		c := &b.cycles[i]
		if len(c.stops) == 0 {
			continue
		}
		last := c.stops[len(c.stops)-1].Span
		if last.Start-slack > at {
			break
		}
		d := away(last, at)
		if d < distance && (next <= at || d <= away(last, next)) {
			best, distance = i, d
		}
	}
	if best < 0 {
		return exactCycle{}, false
	}
	found := b.cycles[best]
	b.cycles = slices.Delete(b.cycles, 0, best+1)
	return found, true
}

// away returns how far t lies outside of s.
func away(s stall.Span, t stall.Instant) stall.Instant {
	return max(0, s.Start-t, t-s.End)
}

func newStop(s *gotrace.Stop) exactStop {
	caller := s.Caller
	if s.Entry != "" && s.Entry != s.Caller {
		caller = s.Entry + " < " + s.Caller
	}
	return exactStop{Span: s.Span, over: s.Over(), gc: s.GC, phase: s.Phase, reason: s.Reason, caller: caller}
}

func (s *exactStop) interval() stall.Interval {
	return stall.Interval{
		Start: s.Start, End: s.over, Slack: traceTick,
		Cause: stopCause(s.gc), Origin: stall.GoTrace,
	}
}

func stopCause(gc bool) stall.Cause {
	if gc {
		return stall.GCPause
	}
	return stall.RuntimeSuspension
}
