package gotrace

import (
	"cmp"
	"strings"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Stop is one stop-the-world, as its EvSTWBegin and EvSTWEnd say. It is longer
// than the runtime's own figure at both ends: see the package comment.
type Stop struct {
	stall.Span
	// Restart is when the stop was over for others than who made it, since a
	// thread got a P again. Zero if that is not known to be before End.
	Restart   stall.Instant
	Reason    string   // as the runtime writes it, such as "GC mark termination"
	GC        bool     // for garbage collection
	Phase     gc.Phase // which stop of a collection, PhaseUnknown if it is none
	Goroutine uint64   // who stopped the world
	// Caller is the innermost function outside package runtime; where there is
	// none, the outermost one of it. Entry is the function of package runtime
	// that Caller called, such as runtime.ReadMemStats. Empty if the stack is
	// not known.
	Caller, Entry string
	Stack         []Frame // innermost first; valid as long as the Generation
}

// Over returns when the stop was over for others than who made it, as far as is
// known.
func (s *Stop) Over() stall.Instant { return cmp.Or(s.Restart, s.End) }

// The reasons of the runtime for a stop that belongs to a collection
// (runtime/proc.go, stwReasonStrings).
const (
	reasonSweepTermination = "GC sweep termination"
	reasonMarkTermination  = "GC mark termination"
	reasonGCPrefix         = "GC "
)

// openStop is a stop that has begun. It stays on its thread, may cross batches,
// and in a whole trace never crosses generations; if it does all the same, its
// reason is kept and its stack is not.
type openStop struct {
	open   bool
	begin  moment
	g      uint64
	reason uint64 // string id of the current generation
	stack  uint64 // stack id of the current generation
	text   string // the reason, once it is of an older generation
}

// doneStop is a stop that ended in this generation.
type doneStop struct {
	openStop
	end     ticks
	thread  uint64
	restart ticks // 0 if it is that of end
}

func (d *decoder) stopBegin(t *thread, at ticks, reason, stack uint64) {
	if t.stop.open {
		d.lost.Unmatched++
	}
	t.stop = openStop{open: true, begin: moment{at: at}, g: t.g, reason: reason, stack: stack}
}

func (d *decoder) stopEnd(t *thread, at ticks) {
	if !t.stop.open {
		d.lost.Unmatched++
		return
	}
	if len(d.stops) < d.limits.Records {
		d.stops = append(d.stops, doneStop{openStop: t.stop, end: at, thread: t.id})
	} else {
		d.lost.Stops++
	}
	t.stop.open = false
}

// resolveStops turns what ended into the generation's Stops.
func (d *decoder) resolveStops(g *Generation) {
	d.restarts()
	for i := range d.stops {
		s := &d.stops[i]
		reason := s.text
		if !s.begin.older {
			reason = d.text(s.reason)
		}
		out := Stop{
			Span:      s.begin.until(s.end, &d.clock),
			Reason:    reason,
			GC:        strings.HasPrefix(reason, reasonGCPrefix),
			Phase:     phaseOf(reason),
			Goroutine: s.g,
		}
		if at := max(out.Start, d.clock.instant(s.restart)); s.restart != 0 && at < out.End {
			out.Restart = at
		}
		if !s.begin.older {
			out.Stack = d.frames(s.stack)
			out.Caller, out.Entry = callerOf(out.Stack)
		}
		g.Stops = append(g.Stops, out)
	}
	g.Stops = d.stopOrder.sort(g.Stops, func(a, b *Stop) bool { return a.Start < b.Start })
}

func phaseOf(reason string) gc.Phase {
	switch reason {
	case reasonSweepTermination:
		return gc.SweepTermination
	case reasonMarkTermination:
		return gc.MarkTermination
	}
	return gc.PhaseUnknown
}

// carryStop keeps an open stop for the next generation.
func (d *decoder) carryStop(t *thread) {
	if !t.stop.open {
		return
	}
	if !t.stop.begin.older {
		t.stop.text = d.text(t.stop.reason)
	}
	t.stop.begin = t.stop.begin.carried(&d.clock)
}
