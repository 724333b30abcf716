package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// shownStrips is how many of the longest pauses are drawn as strips.
const shownStrips = 3

// draw writes the pictures of the collections and stops of one process; a page of text has
// none.
func (r *Report) draw(w *textfmt.Page) {
	if !w.Draws() {
		return
	}
	over := r.Source.Span
	var stops []stall.Interval
	var pauses []strip.Pause
	var lengths jitterprobe.Histogram
	add := func(v stall.Interval, name string) {
		over.Start, over.End = min(over.Start, v.Start), max(over.End, v.End)
		stops = append(stops, v)
		pauses = append(pauses, strip.Pause{Span: v.Span(), Name: name, GC: v.Cause == stall.GCPause})
		lengths.Add(v.Duration())
	}
	for c, p := range r.pauses() {
		add(stall.Interval{Start: p.Start, End: p.End, Cause: stall.GCPause, Ref: uint64(c.number)}, fmt.Sprintf("GC %d", cmp.Or(c.Index, uint64(c.number))))
	}
	for i := range r.Suspensions {
		s := &r.Suspensions[i]
		add(stall.Interval{Start: s.Start, End: s.End, Cause: stall.RuntimeSuspension}, textfmt.Printable(cmp.Or(s.Reason, "reason unknown")))
	}
	if len(stops) == 0 {
		return
	}
	w.Figure(strip.Pauses(over, pauses))
	w.Heading("HOW LONG THE STOPS WERE", "")
	w.Table(textfmt.Histogram("stops", lengths[:]))
	w.Figure(strip.Heaps(over, r.heaps()))
	slices.SortStableFunc(stops, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	for i, worst := range r.longest(shownStrips) {
		w.Figure(r.strip(i+1, stall.Span{Start: worst.Pause.Start, End: worst.Pause.End}, worst.Collection, stops).HTML(0, nil))
	}
}

// heaps returns the sizes of the heap, as far as they are known.
func (r *Report) heaps() (list []strip.Heap) {
	for _, c := range r.byRestart() {
		before, known := c.HeapBefore.Get()
		after, both := c.HeapAfter.Get()
		if known && both {
			list = append(list, strip.Heap{
				At: c.restart(), Name: fmt.Sprintf("GC %d", cmp.Or(c.Index, uint64(c.number))), Before: uint64(before), After: uint64(after),
			})
		}
	}
	return list
}

// around is how much of the time before and after a pause its strip shows, in lengths of
// the pause, if its collection is not longer.
const around = 5

// strip returns a pause with what was around it: its collection, and the other stops.
func (r *Report) strip(n int, pause stall.Span, c *Collection, stops []stall.Interval) *strip.Request {
	d := max(pause.Duration(), 1)
	s := stall.Span{Start: pause.Start.Add(-around * d), End: pause.End.Add(around * d)}
	own := strip.Collection{Index: cmp.Or(c.Index, uint64(c.number)), Span: stall.Span{Start: c.Start.Or(pause.Start), End: c.End.Or(c.restart())}}
	for _, p := range c.Pauses {
		own.Pauses = append(own.Pauses, stall.Span{Start: p.Start, End: p.End})
	}
	if own.Span.Duration() < 2*around*d {
		s.Start, s.End = min(s.Start, own.Span.Start), max(s.End, own.Span.End)
	}
	out := &strip.Request{
		Name:        fmt.Sprintf("Pause %d by length, %s, of GC %d at +%s, with what was around it", n, stall.Humane(d), own.Index, seconds(r.since(pause.Start))),
		Lane:        "the program",
		Collections: []strip.Collection{own},
	}
	at := s.Start
	add := func(to stall.Instant, p stall.Part) {
		if to = min(to, s.End); to > at {
			out.Pieces = append(out.Pieces, stall.Piece{Start: at, End: to, Part: p})
			at = to
		}
	}
	for _, v := range stops {
		if v.End > s.Start && v.Start < s.End {
			out.Stops = append(out.Stops, v)
			add(v.Start, stall.AppOrHost)
			add(v.End, stall.Part(v.Cause))
		}
	}
	add(s.End, stall.AppOrHost)
	return out
}
