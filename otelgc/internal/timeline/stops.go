package timeline

import (
	"cmp"
	"slices"
	"sort"

	"github.com/otelgc/otelgc/stall"
)

// Stops is what both sources know of a span of time, and of the windows in it. Its
// memory is used again.
type Stops struct {
	// Floor is the instant before which something is forgotten, and ExactFloor that
	// before which what the trace had is.
	Floor, ExactFloor stall.Instant
	seen              []stall.Span
	all               Intervals
	begins            []begin
	near              []stall.Interval
}

// Read reads what is known of all.
func (t *Timeline) Read(s *Stops, all stall.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.ExactFloor = t.Exact.Floor()
	s.Floor = max(s.ExactFloor, t.Cycle.Floor())
	s.seen = t.Exact.Seen(s.seen[:0], all)
	list := t.Exact.Intervals(s.all.list[:0], all)
	for i := range list {
		if v := &list[i]; v.Ref != 0 {
			v.Ref = t.number(v.Ref)
		}
	}
	exact := len(list)
	list = t.Cycle.Intervals(list, all)
	// Where the trace has the middle of a stop, it has the same stop, and better.
	rest := slices.DeleteFunc(list[exact:], s.watched)
	s.all.Set(list[:exact+len(rest)])
	from := sort.Search(len(t.begins), func(i int) bool { return t.begins[i].at > all.Start })
	to := sort.Search(len(t.begins), func(i int) bool { return t.begins[i].at > all.End })
	s.begins = append(s.begins[:0], t.begins[max(0, from-1):to]...)
	for i := range s.begins {
		s.begins[i].number = t.number(s.begins[i].number)
	}
}

// Collection returns the number of the collection of the trace that began last before
// at, zero if that is not remembered.
func (s *Stops) Collection(at stall.Instant) uint64 {
	if i := sort.Search(len(s.begins), func(i int) bool { return s.begins[i].at > at }); i > 0 {
		return s.begins[i-1].number
	}
	return 0
}

// Seen returns the parts of w that the trace covers. They may reach beyond w.
func (s *Stops) Seen(w stall.Span) []stall.Span { return Near(s.seen, w) }

// All returns the stops that can reach into w, in both fidelities.
func (s *Stops) All(w stall.Span) []stall.Interval { return s.all.Near(w) }

// In returns the stops that can reach into w, each once: as the trace has it where the
// trace covers all of the time that cycle fidelity places it in. The list is valid
// until the next call.
func (s *Stops) In(w stall.Span) []stall.Interval {
	s.near = s.near[:0]
	for _, v := range s.all.Near(w) {
		if v.Origin != stall.GCWatch {
			s.near = append(s.near, v)
			continue
		}
		reach := reachOf(&v).Clip(w)
		if reach.Empty() || s.covers(reach) {
			continue
		}
		if s.mayHave(&v) {
			v.Slack = max(v.Slack, w.Duration()+v.Duration()) // no part of it is certain
		}
		s.near = append(s.near, v)
	}
	return s.near
}

// mayHave reports whether a stop of cycle fidelity may be one that the trace has, as at
// the edge of a stretch: that one is charged already.
func (s *Stops) mayHave(v *stall.Interval) bool {
	reach := reachOf(v)
	if len(Near(s.seen, reach)) == 0 {
		return false
	}
	return slices.ContainsFunc(s.all.Near(reach), func(x stall.Interval) bool {
		return x.Origin == stall.GoTrace && x.Cause == v.Cause && x.Start < reach.End && reach.Start < x.End
	})
}

// watched reports whether the trace covers the middle of v.
func (s *Stops) watched(v stall.Interval) bool {
	middle := v.Start + (v.End-v.Start)/2
	return s.covers(stall.Span{Start: middle, End: middle + 1})
}

// covers reports whether the trace covers all of span.
func (s *Stops) covers(span stall.Span) bool {
	i := sort.Search(len(s.seen), func(i int) bool { return s.seen[i].End >= span.End })
	return i < len(s.seen) && s.seen[i].Start <= span.Start
}

// reachOf is where a stop may lie.
func reachOf(v *stall.Interval) stall.Span {
	return stall.Span{Start: v.Start.Add(-v.Slack), End: v.End.Add(v.Slack)}
}

// Intervals are sorted by Start, so that those near a span are found.
type Intervals struct {
	list    []stall.Interval
	longest stall.Instant // the longest with its slack: how far before a span to look
}

// Set replaces what v holds by list, and sorts it.
func (v *Intervals) Set(list []stall.Interval) {
	slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	v.list, v.longest = list, 0
	for i := range list {
		v.longest = max(v.longest, list[i].End-list[i].Start+2*stall.Instant(list[i].Slack))
	}
}

// Near returns the intervals that can reach into s, and maybe others. Slack is at both
// ends, and was counted twice in longest.
func (v *Intervals) Near(s stall.Span) []stall.Interval {
	list := v.list[startingFrom(v.list, s.Start-v.longest):]
	return list[:startingFrom(list, s.End+v.longest)]
}

// startingFrom returns the first of a list that starts at t or later. Intervals are
// large: they are looked at where they are.
func startingFrom(list []stall.Interval, t stall.Instant) int {
	return sort.Search(len(list), func(i int) bool { return list[i].Start >= t })
}

// Near returns the spans of a list, sorted and disjoint, that reach into s.
func Near(list []stall.Span, s stall.Span) []stall.Span {
	from, _ := slices.BinarySearchFunc(list, s.Start, func(v stall.Span, t stall.Instant) int { return cmp.Compare(v.End, t) })
	to := from
	for to < len(list) && list[to].Start < s.End {
		to++
	}
	return list[from:to]
}
