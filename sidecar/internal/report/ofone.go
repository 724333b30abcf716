package report

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// only returns what the recording says of one target.
func (r *Report) only(target int) *Report {
	one := &Report{Source: r.Source, Span: r.Span}
	for i := range r.Collections {
		if r.Collections[i].Target == target {
			one.Collections = append(one.Collections, r.Collections[i])
		}
	}
	for _, s := range r.Suspensions {
		if s.Target == target {
			one.Suspensions = append(one.Suspensions, s)
		}
	}
	return one
}

// pauseSpans returns the pauses of a target, of all for 0, by Start.
func (r *Report) pauseSpans(target int) []stall.Span {
	var list []stall.Span
	for i := range r.Collections {
		if target != 0 && r.Collections[i].Target != target {
			continue
		}
		for _, p := range r.Collections[i].Pauses {
			list = append(list, stall.Span{Start: p.Start, End: p.End})
		}
	}
	slices.SortFunc(list, byStart)
	return list
}

func byStart(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) }
