package demo

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// intervals are sorted by their start, so that those near a span are found.
type intervals struct {
	list    []stall.Interval
	longest time.Duration // how far the longest of them reaches
}

// sorted returns the intervals of list, which it sorts.
func sorted(list []stall.Interval) intervals {
	slices.SortStableFunc(list, func(x, y stall.Interval) int { return cmp.Compare(x.Start, y.Start) })
	v := intervals{list: list}
	for i := range list {
		v.longest = max(v.longest, list[i].Duration()+2*list[i].Slack)
	}
	return v
}

// near returns those that may touch s.
func (v *intervals) near(s stall.Span) []stall.Interval {
	first, last := v.touching(s)
	return v.list[first:last]
}

// touching returns the range of those that may touch s.
func (v *intervals) touching(s stall.Span) (first, last int) {
	from := s.Start.Add(-v.longest)
	first = sort.Search(len(v.list), func(i int) bool { return v.list[i].Start >= from })
	last = first
	for last < len(v.list) && v.list[last].Start.Add(-v.list[last].Slack) < s.End {
		last++
	}
	return first, last
}
