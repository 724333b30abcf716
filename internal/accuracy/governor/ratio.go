package main

import (
	"fmt"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/service"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
)

// floor is the budget of a process that uses nearly no CPU time, in CPUs.
const floor = 0.005

// allowed returns the CPUs that tracing may use in a process that uses so many.
func (e *experiment) allowed(cores float64) float64 { return max(floor, e.budget*cores) }

// excess returns the CPUs that got used in some time beyond what as many
// requests take otherwise, over a longer time that holds it.
func excess(some, otherwise service.Part, whole service.Part) float64 {
	if otherwise.Served == 0 || whole.Wall <= 0 {
		return 0
	}
	expected := otherwise.CPU.Seconds() / float64(otherwise.Served) * float64(some.Served)
	return (some.CPU.Seconds() - expected) / whole.Wall.Seconds()
}

// across compares the run that traced in slices with the one that never did.
func across(p trial.Pair) float64 { return excess(p.With.All, p.Without.All, p.With.All) }

// inside compares the slices with the time between them, in the same run.
func inside(p trial.Pair) float64 {
	return excess(p.With.Traced, p.With.Untraced(), p.With.All)
}

// row returns the line of one service.
func (e *experiment) row(what string, pairs []trial.Pair) []string {
	median := func(f func(trial.Pair) float64) float64 { return spread.Median(trial.Each(pairs, f)) }
	share := func(cost func(trial.Pair) float64) []float64 {
		return trial.Each(pairs, func(p trial.Pair) float64 { return cost(p) / e.allowed(p.With.All.Cores()) })
	}
	v := spread.Of(share(across))
	return []string{
		what,
		fmt.Sprintf("%.0f", median(func(p trial.Pair) float64 { return float64(p.With.All.Served) / p.With.All.Wall.Seconds() })),
		fmt.Sprintf("%.3f", median(func(p trial.Pair) float64 { return p.With.All.Cores() })),
		fmt.Sprint(len(pairs)),
		fmt.Sprintf("%.4f", median(func(p trial.Pair) float64 { return e.allowed(p.With.All.Cores()) })),
		fmt.Sprintf("%.4f", median(across)),
		fmt.Sprintf("%.2f", v.Median), v.String(),
		fmt.Sprintf("%.2f", spread.Median(share(inside))),
		fmt.Sprintf("%.0f %%", 100*median(func(p trial.Pair) float64 { return trial.Traced(p.With) })),
	}
}

// write puts the figures and how they came about into s.
func (e *experiment) write(s *report.Section, rows [][]string) {
	s.Para("Exact budget %.3g of the process's own CPU time, or %.1f %% of one CPU where that is more; %s. "+
		"Every run has otelgc in it; the runs of a pair differ in the budget, which is 0 in one of them.",
		e.budget, 100*floor, e.Placement())
	s.Table(rows)
	s.Para("Each run is a process of its own; the first %v are discarded, then at least %v are measured, in the order ABBA, "+
		"the traced run from the begin of one slice to the begin of another. "+
		"Cost is the CPU time beyond what as many requests took in the run that never traced, per second. "+
		"Inside the runs: the same for the slices against the time between them; it leaves out what is done after a slice, and the machine's drift between runs.",
		e.Warmup, e.Span)
	if e.Unaligned > 0 {
		s.Para("%d runs saw no slice begin within %v and are measured over the bare span.", e.Unaligned, e.SliceWait)
	}
}
