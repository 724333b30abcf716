package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// maxRequests bounds the requests that are kept of one trace. Of those that have
// not ended there is one for each of gotrace.WindowSlots at most.
const maxRequests = 1 << 20

// request is one that a trace has from begin to end.
type request struct {
	stall.Span
	goroutine   uint64
	gc          time.Duration // that pauses overlapped it, what they cost it at most; and that it marked and swept otherwise
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
		return // there are no marks
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
				keep(&l.done, maxRequests, &l.left, request{Span: stall.Span{Start: begin.At, End: m.At}, goroutine: begin.Goroutine})
			}
		}
	}
	if len(l.ranges)+len(g.Ranges) <= maxRequests {
		l.ranges = append(l.ranges, g.Ranges...)
	} else {
		l.left += uint64(len(g.Ranges))
	}
}

// settle sets the requests against the pauses and against their goroutines'
// work, and returns them from the fastest to the slowest.
func (l *requestLog) settle(r *Report) []request {
	if len(l.done) == 0 {
		return nil
	}
	list := r.pausesOf(0)
	slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	pauses := stall.NewLog(stall.GoTrace, len(list), 1)
	for _, p := range list {
		p.Slack = 0 // a clock's tick is nothing to a request
		pauses.Add(p)
	}
	byGoroutine := func(g uint64, at stall.Instant, h uint64, bt stall.Instant) int {
		return cmp.Or(cmp.Compare(g, h), cmp.Compare(at, bt))
	}
	slices.SortFunc(l.ranges, func(a, b gotrace.Range) int { return byGoroutine(a.Goroutine, a.Start, b.Goroutine, b.Start) })
	slices.SortFunc(l.done, func(a, b request) int { return byGoroutine(a.goroutine, a.Start, b.goroutine, b.Start) })
	var joiner stall.Joiner
	var share stall.Share
	var e stall.Evidence
	next := 0
	for i := range l.done {
		q := &l.done[i]
		for next < len(l.ranges) && (l.ranges[next].Goroutine < q.goroutine || l.ranges[next].Goroutine == q.goroutine && l.ranges[next].End <= q.Start) {
			next++
		}
		e.Own = e.Own[:0]
		for k := next; k < len(l.ranges) && l.ranges[k].Goroutine == q.goroutine && l.ranges[k].Start < q.End; k++ {
			e.Own = append(e.Own, stall.Interval{Start: l.ranges[k].Start, End: l.ranges[k].End, Cause: stall.GCAssist})
		}
		e.Process = pauses.Intervals(e.Process[:0], q.Span)
		joiner.Join(&stall.Window{Start: q.Start, End: q.End}, &e, &share)
		q.gc, q.collections = share.GC(), share.Collections
	}
	slices.SortFunc(l.done, func(a, b request) int { return cmp.Compare(a.Duration(), b.Duration()) })
	return l.done
}

// Latency sums up the requests of one range of latency.
type Latency struct {
	Title   string        `json:"latency"`
	UpTo    time.Duration `json:"up_to"` // the slowest of them
	Count   int           `json:"requests"`
	Hit     int           `json:"affected"`            // a pause overlapped it, or it worked for the collector
	Several int           `json:"several_collections"` // pauses of two collections or more did
	Time    time.Duration `json:"time"`                // of all of them
	HitTime time.Duration `json:"affected_time"`       // of those that were hit
	GC      time.Duration `json:"gc_time"`             // that garbage collection cost them at most
}

// latenciesOf sums up requests, which are in order from the fastest to the
// slowest: all of them, then those from one quantile to the next.
func latenciesOf(list []request) []Latency {
	if len(list) == 0 {
		return nil
	}
	rows := []Latency{latencyOf("all", list)}
	from, below := 0, ""
	for _, q := range quantiles {
		to, ok := q.rank(len(list))
		if !ok {
			break
		}
		title := "to " + q.name
		if below != "" {
			title = below + "-" + q.name
		}
		rows = append(rows, latencyOf(title, list[from:to]))
		from, below = to, q.name
	}
	if below != "" {
		rows = append(rows, latencyOf("above "+below, list[from:]))
	}
	return rows
}

// latencyOf sums up requests, of which there are some.
func latencyOf(title string, list []request) Latency {
	l := Latency{Title: title, UpTo: list[len(list)-1].Duration(), Count: len(list)}
	for i := range list {
		q := &list[i]
		l.Time += q.Duration()
		if q.gc == 0 {
			continue
		}
		l.Hit++
		l.HitTime += q.Duration()
		l.GC += q.gc
		if q.collections > 1 {
			l.Several++
		}
	}
	return l
}
