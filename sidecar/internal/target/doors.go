package target

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// Doors are those through which a Go program was seen.
type Doors string

// The doors of Go programs. A tracer that gave no whole slice is none.
const (
	Probes Doors = "probes"
	Tracer Doors = "tracer"
	Both   Doors = "both"
)

// and returns d with another.
func (d Doors) and(another Doors) Doors {
	if d == "" || d == another {
		return another
	}
	return Both
}

// bothDoors joins what the probes and a slice of the trace say of the same stops: the probes
// have the number of each collection, the trace has why it began and how large the heap was.
// What one of them saw and the other did not is counted.
type bothDoors struct {
	begun   stall.Instant    // when the slice was asked for; 0 if there is none
	waiting []gc.Collection  // that the probes saw end since, in their order
	stops   []stall.Interval // that the probes saw end since
	seen    bool             // that is all of them
	told    []tracedStretch  // what the slice has
	hold    stall.Instant    // the watermark does not pass it: begun, or the first pause of waiting
}

// tracedStretch is what a batch of a trace has.
type tracedStretch struct {
	span        stall.Span // that was watched
	stops       []stall.Interval
	collections []gc.Collection
}

const (
	// maxWaiting bounds the collections and the stops that wait for the end of a slice. What
	// is over it is exported as the probes have it, and then nothing is compared.
	maxWaiting = 4096
	// maxStretches bounds the stretches of a slice. It has one or two, but the process
	// writes it.
	maxStretches = 16
)

// stretch returns what a batch has in memory of its own. Since is the watermark of the one
// before it.
func stretch(b *source.Batch, since stall.Instant) tracedStretch {
	s := tracedStretch{span: stall.Span{Start: since, End: b.Watermark}}
	for _, u := range b.Unseen {
		if u.Start <= s.span.Start {
			s.span.Start = max(s.span.Start, u.End)
		} else {
			s.span.End = min(s.span.End, u.Start)
		}
	}
	if s.span.Empty() || max(len(b.Intervals), len(b.Collections)) > maxWaiting {
		return tracedStretch{}
	}
	s.stops, s.collections = slices.Clone(b.Intervals), slices.Clone(b.Collections)
	return s
}

// traced takes in what a batch of the trace has, if it is of the slice.
func (d *bothDoors) traced(s tracedStretch) {
	switch {
	case d.begun == 0 || s.span.Start < d.begun:
	case len(d.told) == maxStretches:
		d.seen = false
	default:
		d.told = append(d.told, s)
	}
}

// begin notes that a slice was asked for.
func (d *bothDoors) begin(at stall.Instant) { d.begun, d.hold, d.seen = at, at, true }

// probed takes in a batch of the probes, and reports whether its collections wait.
func (d *bothDoors) probed(b *source.Batch) bool {
	if d.begun == 0 {
		return false
	}
	if b.Lost.Count > 0 || len(b.Unseen) > 0 || len(d.stops)+len(b.Intervals) > maxWaiting {
		d.seen = false
	} else {
		d.stops = append(d.stops, b.Intervals...)
	}
	return len(d.waiting)+len(b.Collections) <= maxWaiting
}

// wait keeps a collection that the probes saw.
func (d *bothDoors) wait(c *gc.Collection) {
	kept := *c
	kept.Pauses = slices.Clone(c.Pauses)
	d.waiting = append(d.waiting, kept)
	if s := c.Extent(); !s.Empty() {
		d.hold = min(d.hold, s.Start)
	}
}

// over reports whether all is known of the slice that it will be: another one is taken or
// none, and the probes have told all stops in it. Slicing is when the one was asked for that
// is taken now.
func (d *bothDoors) over(slicing, watermark, now stall.Instant) bool {
	switch {
	case d.begun == 0 || slicing == d.begun:
		return false
	case !slices.ContainsFunc(d.told, func(s tracedStretch) bool { return watermark < s.span.End }):
		return true
	}
	late := now.Sub(d.begun) > heldFor
	d.seen = d.seen && !late
	return late
}

// end forgets the slice. It returns the collections that waited for it, with what the trace
// has of them, and the stops that one of the two did not see.
func (d *bothDoors) end() (all []gc.Collection, differ []stall.Interval) {
	for i := range d.waiting {
		d.explain(&d.waiting[i])
	}
	if d.seen {
		differ = d.compare()
	}
	all = d.waiting
	*d = bothDoors{}
	return all, differ
}

// edge is what is left out at both ends of a stretch: a stop that was under way when the
// tracer began or ended is not whole in the trace.
const edge = time.Millisecond

// same reports whether a stop that the probes saw is one of the trace. Stops do not overlap,
// but the two do not begin together: the probes have the instant that the runtime took behind
// the lock of its scheduler, the trace the one before it, or when the tracer began.
func same(a, b stall.Span) bool { return a.Start <= b.End && b.Start <= a.End }

// explain adds to a collection of the probes what the trace has of it.
func (d *bothDoors) explain(c *gc.Collection) {
	for _, s := range d.told {
		for i := range s.collections {
			t := &s.collections[i]
			if len(c.Pauses) == 0 || len(t.Pauses) == 0 || !slices.ContainsFunc(t.Pauses, func(p gc.Pause) bool {
				return same(stall.Span{Start: c.Pauses[0].Start, End: c.Pauses[0].End}, stall.Span{Start: p.Start, End: p.EndMax})
			}) {
				continue
			}
			if c.Trigger.IsZero() {
				c.Trigger, c.TriggerSite = t.Trigger, t.TriggerSite
			}
			c.HeapBefore, c.HeapAfter, c.Promoted, c.Goal = t.HeapBefore, t.HeapAfter, t.Promoted, t.Goal
			return
		}
	}
}

// compare returns the stops that lie in what was traced and that only one of the two saw.
func (d *bothDoors) compare() (differ []stall.Interval) {
	for _, s := range d.told {
		inside := stall.Span{Start: s.span.Start.Add(edge), End: s.span.End.Add(-edge)}
		lacks := func(all, among []stall.Interval) { // both are in the order of time
			for _, v := range all {
				at, _ := slices.BinarySearchFunc(among, v.Start, func(o stall.Interval, start stall.Instant) int { return cmp.Compare(o.End, start) })
				found := at < len(among) && same(v.Span(), among[at].Span())
				if v.Span().Clip(inside) == v.Span() && !found {
					differ = append(differ, v)
				}
			}
		}
		lacks(d.stops, s.stops)
		lacks(s.stops, d.stops)
	}
	return differ
}
