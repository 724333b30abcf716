package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// maxRequests bounds the requests that are kept of one trace. Of those that have
// not ended there is one for each of gotrace.WindowSlots at most.
const maxRequests = 1 << 20

// request is one that a trace has from begin to end.
type request struct {
	stall.Span
	goroutine   uint64
	paused      time.Duration // that pauses overlapped it: what they cost it at most
	worked      time.Duration // that it marked and swept for the collector, outside of pauses
	collections int           // of which a pause overlapped it
}

// requestLog collects requests and what their goroutines did for the collector.
type requestLog struct {
	open   map[int16]gotrace.Mark // by slot
	done   []request
	ranges []gotrace.Range
	left   uint64
}

func (l *requestLog) learn(g *gotrace.Generation) {
	if len(g.Marks) == 0 && len(l.open) == 0 && len(l.done) == 0 {
		return // nobody marks requests
	}
	if l.open == nil || g.Lost.Generations > 0 || g.Lost.Marks > 0 {
		l.open = map[int16]gotrace.Mark{}
	}
	for _, m := range g.Marks {
		switch mark, slot, _ := gotrace.ParseWindowMark(m.Key); mark {
		case gotrace.WindowBegin:
			l.open[slot] = m
		case gotrace.WindowEnd, gotrace.WindowOver:
			if begin, was := l.open[slot]; was {
				delete(l.open, slot)
				l.add(request{Span: stall.Span{Start: begin.At, End: m.At}, goroutine: begin.Goroutine})
			}
		}
	}
	if len(l.ranges)+len(g.Ranges) <= maxRequests {
		l.ranges = append(l.ranges, g.Ranges...)
	} else {
		l.left += uint64(len(g.Ranges))
	}
}

func (l *requestLog) add(r request) {
	if len(l.done) == maxRequests {
		l.left++
		return
	}
	l.done = append(l.done, r)
}

// settle sets the requests against the pauses and against their goroutines'
// work, and returns them from the fastest to the slowest.
func (l *requestLog) settle(r *Report) []request {
	pauses := newPauseIndex(r)
	byGoroutine := func(g uint64, at stall.Instant, h uint64, bt stall.Instant) int {
		return cmp.Or(cmp.Compare(g, h), cmp.Compare(at, bt))
	}
	slices.SortFunc(l.ranges, func(a, b gotrace.Range) int { return byGoroutine(a.Goroutine, a.Start, b.Goroutine, b.Start) })
	slices.SortFunc(l.done, func(a, b request) int { return byGoroutine(a.goroutine, a.Start, b.goroutine, b.Start) })
	next := 0
	for i := range l.done {
		q := &l.done[i]
		q.paused, q.collections = pauses.within(q.Span)
		for next < len(l.ranges) && (l.ranges[next].Goroutine < q.goroutine || l.ranges[next].Goroutine == q.goroutine && l.ranges[next].End <= q.Start) {
			next++
		}
		for k := next; k < len(l.ranges) && l.ranges[k].Goroutine == q.goroutine && l.ranges[k].Start < q.End; k++ {
			part := l.ranges[k].Span.Clip(q.Span)
			paused, _ := pauses.within(part)
			q.worked += max(0, part.Duration()-paused)
		}
	}
	slices.SortFunc(l.done, func(a, b request) int { return cmp.Compare(a.Duration(), b.Duration()) })
	return l.done
}

// pauseIndex finds the pauses in a span.
type pauseIndex struct {
	spans  []stall.Span
	number []int // of the collection
}

func newPauseIndex(r *Report) *pauseIndex {
	x := &pauseIndex{}
	type pause struct {
		stall.Span
		number int
	}
	var list []pause
	for i := range r.Collections {
		for _, p := range r.Collections[i].Pauses {
			list = append(list, pause{stall.Span{Start: p.Start, End: p.End}, i})
		}
	}
	slices.SortFunc(list, func(a, b pause) int { return cmp.Compare(a.Start, b.Start) })
	for _, p := range list {
		x.spans, x.number = append(x.spans, p.Span), append(x.number, p.number)
	}
	return x
}

// within returns how much of s was paused, and by how many collections. Pauses
// of one process do not overlap each other.
func (x *pauseIndex) within(s stall.Span) (paused time.Duration, collections int) {
	if s.Empty() {
		return 0, 0
	}
	first, _ := slices.BinarySearchFunc(x.spans, s.Start, func(p stall.Span, at stall.Instant) int {
		if p.End <= at {
			return -1
		}
		return 1
	})
	last := -1
	for i := first; i < len(x.spans) && x.spans[i].Start < s.End; i++ {
		paused += x.spans[i].Clip(s).Duration()
		if x.number[i] != last {
			collections, last = collections+1, x.number[i]
		}
	}
	return paused, collections
}

func (r *Report) printRequests(w io.Writer) {
	if len(r.Requests) == 0 {
		return
	}
	textfmt.Heading(w, "REQUESTS", "percent; pauses count in full: one that fell while a request waited cost it nothing")
	var g textfmt.Table
	g.Row("", "", "", "", "hit by", "hit by", "GC of", "GC of")
	g.Row("latency", "up to", "requests", "in all", "GC", "several", "their time", "all time")
	for _, b := range r.Requests {
		g.Row(b.Title, textfmt.Length(b.UpTo), textfmt.Count(b.Count), textfmt.Length(b.Time), percent(of(b.Hit, b.Count)), percent(of(b.Several, b.Count)),
			percent(of(b.GC, b.HitTime)), percent(of(b.GC, b.Time)))
	}
	g.Print(w)
	fmt.Fprintln(w, "  requests that package otelgc marked and that lie in the trace from begin to end")
}
