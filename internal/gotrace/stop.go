package gotrace

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Stop is one stop-the-world, as its EvSTWBegin and EvSTWEnd say. It is longer
// than the runtime's own figure at both ends: see the package comment.
type Stop struct {
	stall.Span
	// Restart is when the stop was over for all goroutines but the one that made it,
	// since a thread got a P again. Zero if that is not known to be before End.
	Restart   stall.Instant
	Reason    string   // as the runtime writes it, such as "GC mark termination"
	GC        bool     // for garbage collection
	Phase     gc.Phase // which stop of a collection, PhaseUnknown if it is none
	Goroutine uint64   // that stopped the world
	// Caller is the innermost function outside package runtime; where there is
	// none, the outermost one of it. Entry is the function of package runtime
	// that Caller called, such as runtime.ReadMemStats. Empty if the stack is
	// not known.
	Caller, Entry string
	Stack         []string // functions, innermost first; valid as long as the Generation
}

// Over returns when the stop was over for all goroutines but the one that made it, as
// far as is known.
func (s *Stop) Over() stall.Instant { return cmp.Or(s.Restart, s.End) }

// Tick is the resolution of a trace's clock on most platforms: an event may be stamped up
// to that much before it was (runtime/traceruntime.go, traceTimeDiv).
const Tick = 64 * time.Nanosecond

// Via returns Caller with Entry before it, where that is another:
// "runtime.ReadMemStats < main.agent".
func (s *Stop) Via() string {
	if s.Entry != "" && s.Entry != s.Caller {
		return s.Entry + " < " + s.Caller
	}
	return s.Caller
}

// Pause returns s, which is for garbage collection, as a pause.
func (s *Stop) Pause() gc.Pause {
	return gc.Pause{Start: s.Start, End: s.Over(), EndMax: s.End, Phase: s.Phase, Slack: Tick}
}

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

// handoff is when a thread got a P or lost it.
type handoff struct {
	at     ticks
	thread uint64
	took   bool
}

// maxHandoffs bounds those of a generation, 6 MB: 260,000 a second.
const maxHandoffs = 1 << 18

// handoff notes that a thread got a P or lost it. Over the limit nothing is known
// of this generation: its stops end with their EvSTWEnd.
func (d *decoder) handoff(thread uint64, at ticks, took bool) {
	if len(d.handoffs) < min(maxHandoffs, d.limits.Records) {
		d.handoffs = append(d.handoffs, handoff{at, thread, took})
	} else {
		d.lost.Handoffs++
	}
}

// restarts finds when each stop was over for all goroutines but the one that made it:
// when another thread got a P again. EvSTWEnd comes later, by milliseconds where its
// thread loses the CPU in between.
//
// In a stop there is an instant at which no other thread has a P: where the sum
// of what the others took and lost since the stop began is least, whatever they
// had then. The first P that is taken after the last such instant is the restart.
// EvGCEnd is written at such an instant (runtime/mgc.go, gcMarkTermination): in a
// stop that has it, the first after it is.
func (d *decoder) restarts() {
	if len(d.stops) == 0 || d.lost.Handoffs > 0 {
		return
	}
	slices.SortFunc(d.stops, func(a, b doneStop) int { return cmp.Compare(a.end, b.end) })
	d.handoffsInStops()
	d.sortEnds()
	rest, passed := d.handoffs, ticks(0)
	for i := range d.stops {
		s := &d.stops[i]
		if s.begin.older || s.begin.at < passed {
			continue // stops follow one another: here something is missing
		}
		rest = rest[before(rest, s.begin.at):]
		n := before(rest, s.end)
		s.restart, passed = restartIn(rest[:n], s.thread, gcEndIn(d.ends, s.begin.at, s.end)), s.end
		rest = rest[n:]
	}
}

// handoffsInStops keeps those that fall into a stop, a few of very many, in order.
func (d *decoder) handoffsInStops() {
	kept := d.handoffs[:0]
	for i, h := range d.handoffs {
		k, _ := slices.BinarySearchFunc(d.stops, h.at+1, func(s doneStop, t ticks) int { return cmp.Compare(s.end, t) })
		if k < len(d.stops) && d.stops[k].begin.at <= h.at {
			kept = append(kept, h)
		}
		if i%(1<<14) == 0 {
			d.breathe()
		}
	}
	slices.SortStableFunc(kept, func(a, b handoff) int { return cmp.Compare(a.at, b.at) })
	d.handoffs = kept
	d.breathe()
}

// sortEnds notes when collections ended.
func (d *decoder) sortEnds() {
	d.ends = d.ends[:0]
	for i := range d.cycles {
		if d.cycles[i].typ == evGCEnd {
			d.ends = append(d.ends, d.cycles[i].at)
		}
	}
	slices.Sort(d.ends)
}

// before returns how many of the ordered list lie before t.
func before(list []handoff, t ticks) int {
	n, _ := slices.BinarySearchFunc(list, t, func(h handoff, t ticks) int { return cmp.Compare(h.at, t) })
	return n
}

// gcEndIn returns the first of the ordered ends that lies between from and to, 0
// if none does.
func gcEndIn(ends []ticks, from, to ticks) ticks {
	if i, _ := slices.BinarySearch(ends, from); i < len(ends) && ends[i] < to {
		return ends[i]
	}
	return 0
}

// restartIn returns when another thread than that of the stop had a P again, 0
// if none had. Stopped is an instant of the stop at which none had, 0 if none is
// known.
func restartIn(list []handoff, thread uint64, stopped ticks) (restart ticks) {
	had, least := 0, 0
	for _, h := range list {
		switch {
		case h.thread == thread:
		case h.took:
			if restart == 0 && h.at > stopped {
				restart = h.at
			}
			had++
		default:
			if had--; had <= least && stopped == 0 {
				least, restart = had, 0
			}
		}
	}
	return restart
}
