package otelgc

import (
	"cmp"
	"runtime"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// evidence collects what the sources said about a batch of windows, and cuts it
// to one window at a time. Its memory is used again.
type evidence struct {
	m *Monitor

	process, host []stall.Interval // of the whole batch, by Start
	longest       stall.Instant    // longest interval of process and host with its slack: how far before a window to look
	seen          []stall.Span
	floor         stall.Instant // what was before it is forgotten
	exactFloor    stall.Instant // that of the exact source
	targetSeen    []stall.Span

	one   stall.Evidence // of one window
	stops []stall.Interval
}

// gather reads the logs once for all windows of a batch.
func (e *evidence) gather(all stall.Span) {
	m := e.m
	m.store.setProcessors(runtime.GOMAXPROCS(0))
	e.exactFloor = m.store.log.Floor()
	e.floor = max(e.exactFloor, m.cycle.log.Floor())
	e.seen = m.store.log.Seen(e.seen[:0], all)
	e.process = m.store.log.Intervals(e.process[:0], all)
	exact := len(e.process)
	e.process = m.cycle.log.Intervals(e.process, all)
	// Where the exact source watched, it has the same stops, and better.
	rest := slices.DeleteFunc(e.process[exact:], e.watched)
	e.process = e.process[:exact+len(rest)]
	byStart := func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortFunc(e.process, byStart)
	e.host = m.host.log.Intervals(e.host[:0], all)
	e.targetSeen = m.host.target.log.Seen(e.targetSeen[:0], all)
	e.longest = 0
	for _, list := range [][]stall.Interval{e.process, e.host} {
		for i := range list {
			e.longest = max(e.longest, list[i].End-list[i].Start+2*stall.Instant(list[i].Slack))
		}
	}
}

// watched reports whether the middle of v lies where the exact source watched.
func (e *evidence) watched(v stall.Interval) bool {
	middle := v.Start + (v.End-v.Start)/2
	i, _ := slices.BinarySearchFunc(e.seen, middle, func(s stall.Span, at stall.Instant) int {
		return cmp.Compare(s.End, at+1)
	})
	return i < len(e.seen) && e.seen[i].Start <= middle
}

// of returns the evidence about a window, or a piece of one, which had a slot
// from when it was held to until. By is who carried it up to the piece, and is
// brought up to date. It is valid until the next call.
func (e *evidence) of(w *stall.Window, slot int16, had stall.Span, by *carrier) *stall.Evidence {
	extent := w.Extent()
	e.one.Process = e.stopsIn(extent)
	e.one.Host = e.near(e.host, extent)
	e.one.Seen = nearSpans(e.seen, extent)
	e.one.TargetSeen = nearSpans(e.targetSeen, extent)
	e.one.Track, e.one.Own = e.one.Track[:0], e.one.Own[:0]
	if slot != noSlot {
		e.m.store.follow(&e.one, w, slot, had, by)
	}
	if extent.Start < e.exactFloor {
		e.forget(e.exactFloor)
	}
	return &e.one
}

// forget takes off what is known of the goroutine before t. Which stops there were is
// forgotten, and a wait may have been for one of them.
func (e *evidence) forget(t stall.Instant) {
	own, track := e.one.Own[:0], e.one.Track[:0]
	for _, v := range e.one.Own {
		if v.Start = max(v.Start, t); v.Start < v.End {
			own = append(own, v)
		}
	}
	for _, v := range e.one.Track {
		if v.Start = max(v.Start, t); v.Start < v.End {
			track = append(track, v)
		}
	}
	e.one.Own, e.one.Track = own, track
}

// stopsIn returns the stops that can reach into s. Where the exact source watched
// all of the time that cycle fidelity places a stop in, it has the same, and
// better.
func (e *evidence) stopsIn(s stall.Span) []stall.Interval {
	e.stops = e.stops[:0]
	for _, v := range e.near(e.process, s) {
		if v.Origin != stall.GCWatch {
			e.stops = append(e.stops, v)
			continue
		}
		reach := reachOf(&v).Clip(s)
		if reach.Empty() || e.sees(reach) {
			continue
		}
		if e.mayHave(&v) {
			v.Slack = max(v.Slack, s.Duration()+v.Duration()) // no part of it is certain
		}
		e.stops = append(e.stops, v)
	}
	return e.stops
}

// mayHave reports whether a stop of cycle fidelity may be one that the exact source
// saw, as at the edge of a slice: that one is charged already.
func (e *evidence) mayHave(v *stall.Interval) bool {
	reach := reachOf(v)
	if len(nearSpans(e.seen, reach)) == 0 {
		return false
	}
	return slices.ContainsFunc(e.near(e.process, reach), func(x stall.Interval) bool {
		return x.Origin == stall.GoTrace && x.Cause == v.Cause && x.Start < reach.End && reach.Start < x.End
	})
}

// sees reports whether the exact source watched all of s.
func (e *evidence) sees(s stall.Span) bool {
	i, _ := slices.BinarySearchFunc(e.seen, s.End, func(v stall.Span, at stall.Instant) int { return cmp.Compare(v.End, at) })
	return i < len(e.seen) && e.seen[i].Start <= s.Start
}

// settling is how long after a stop it is not known yet whether a goroutine slept
// through it, see [stall.Joiner], and more.
const settling = 100 * time.Microsecond

// quiet returns the last instant up to t at which nothing that stalls the whole
// process or the machine may be going on, or just over: a window that is cut
// there loses no certainty.
func (e *evidence) quiet(t stall.Instant) stall.Instant {
	for _, list := range [][]stall.Interval{e.process, e.host, e.process} {
		near := e.near(list, stall.Span{Start: t.Add(-settling), End: t + 1})
		for i := range slices.Backward(near) {
			v := &near[i]
			if from, to := v.Start.Add(-v.Slack), v.End.Add(v.Slack); from < t && t < to.Add(settling) {
				t = from
			}
		}
	}
	return t
}

// near cuts a list to what can reach into s. Slack is at both ends, and was
// counted twice in longest.
func (e *evidence) near(list []stall.Interval, s stall.Span) []stall.Interval {
	from := startingFrom(list, s.Start-e.longest)
	list = list[from:]
	return list[:startingFrom(list, s.End+e.longest)]
}

// startingFrom returns the first of a list that starts at t or later. Intervals are
// large: they are looked at where they are.
func startingFrom(list []stall.Interval, t stall.Instant) int {
	return sort.Search(len(list), func(i int) bool { return list[i].Start >= t })
}

func nearSpans(list []stall.Span, s stall.Span) []stall.Span {
	from, _ := slices.BinarySearchFunc(list, s.Start, func(v stall.Span, t stall.Instant) int { return cmp.Compare(v.End, t) })
	to := from
	for to < len(list) && list[to].Start < s.End {
		to++
	}
	return list[from:to]
}
