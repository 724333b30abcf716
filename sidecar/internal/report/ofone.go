package report

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// only returns what the recording says of one target.
func (r *Report) only(target int) *Report {
	one := &Report{Source: r.Source, Span: r.Span}
	if t := r.Experiment.target(target); t != nil {
		one.Source.PID, one.Source.dotnet = t.PID, t.Runtime == "dotnet"
	}
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

// target returns the process of an ID, nil if the recording does not tell of it.
func (x *Experiment) target(id int) *recording.Target {
	if i := slices.IndexFunc(x.Targets, func(t recording.Target) bool { return t.ID == id }); i >= 0 {
		return &x.Targets[i]
	}
	return nil
}

// parts returns a report for each process of a recording, by ID, with its
// collections by their start; any other file is of one process.
func (r *Report) parts() map[int]*Report {
	if r.Experiment == nil {
		return map[int]*Report{0: r}
	}
	parts := make(map[int]*Report)
	for i := range r.Collections {
		id := r.Collections[i].Target
		if parts[id] != nil {
			continue
		}
		parts[id] = r.only(id)
		slices.SortStableFunc(parts[id].Collections, func(a, b Collection) int {
			first, _, _ := pausesOf(&a.Collection)
			second, _, _ := pausesOf(&b.Collection)
			return cmp.Compare(first, second)
		})
	}
	return parts
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
