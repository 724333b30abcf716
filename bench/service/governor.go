package service

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// Governor measures what exact tracing costs against what it may cost.
func Governor() harness.Experiment {
	e := &governor{}
	return harness.Experiment{Name: "governor", Title: "Exact tracing and its budget", Answer: "Does exact tracing keep to its budget?", Flags: e.flags, Measure: e.measure}
}

type governor struct {
	trials
	many, idle   int
	budget, rate float64
	only         string
}

func (e *governor) flags(f *flag.FlagSet) {
	e.trials.flags(f, 5*time.Second, time.Minute, 2*time.Minute, 16, true)
	f.IntVar(&e.many, "pairs", 6, "pairs of runs of each service")
	f.Float64Var(&e.budget, "budget", 0.01, "exact budget")
	f.Float64Var(&e.rate, "rate", 20, "requests per second of the services that are not saturated")
	f.IntVar(&e.idle, "idle", 100_000, "goroutines of the service that has idle ones")
	f.StringVar(&e.only, "only", "", "`names` of the services to run, such as quiet,saturated,idle; all of them if empty")
}

func (e *governor) measure(ctx context.Context, p *harness.Page) error {
	if err := e.begin(p); err != nil {
		return err
	}
	rows := [][]string{{"service", "requests/s", "CPUs in use", "pairs", "budget, CPUs", "cost, CPUs, median",
		"cost / budget, median", "95 % interval", "the same inside the runs", "time traced"}}
	for _, c := range []struct {
		name, what string
		rate       float64
		idle       int
	}{
		{"quiet", "quiet", e.rate, 0},
		{"saturated", "saturated", 0, 0},
		{"idle", fmt.Sprintf("%d idle goroutines", e.idle), e.rate, e.idle},
	} {
		if e.only != "" && !strings.Contains(","+e.only+",", ","+c.name+",") {
			continue
		}
		without := run{rate: c.rate, Spec: Spec{Monitor: true, LiveMB: e.live, Idle: c.idle}}
		with := without
		with.Budget, with.wholeSlices = e.budget, e.budget < 1
		pairs, err := e.pairs(ctx, e.many, without, with)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, e.row(c.what, pairs))
	}
	p.Para("Exact budget %.3g of the process's own CPU time, or %.1f %% of one CPU where that is more; %s. "+
		"Every run has otelgc in it; the runs of a pair differ in the budget, which is 0 in one of them.", e.budget, 100*floor, e.placement())
	p.Table(rows)
	p.Para("Cost is the CPU time beyond what as many requests took in the run that never traced, per second. " +
		"Inside the runs: the same for the slices against the time between them; it leaves out what is done after a slice, and the drift of the machine between runs.")
	e.paraRuns()
	return nil
}

// floor is the budget of a process that uses nearly no CPU time, in CPUs.
const floor = 0.005

// allowed returns the CPUs that tracing may use in a run.
func (e *governor) allowed(p pair) float64 { return max(floor, e.budget*p.With.All.cores()) }

// excess returns the CPUs that some used beyond what as many requests took
// otherwise, over the wall time of whole.
func excess(some, otherwise, whole Part) float64 {
	if otherwise.Served == 0 || whole.Wall <= 0 {
		return 0
	}
	return (some.CPU.Seconds() - otherwise.perRequest()/1e6*float64(some.Served)) / whole.Wall.Seconds()
}

// across compares the run that traced in slices with the one that never did.
func across(p pair) float64 { return excess(p.With.All, p.Without.All, p.With.All) }

// inside compares the slices with the time between them, in the same run.
func inside(p pair) float64 {
	return excess(p.With.Traced, p.With.All.plus(p.With.Traced, -1), p.With.All)
}

// row returns the line of one service.
func (e *governor) row(what string, pairs []pair) []string {
	v := harness.Of(harness.Each(pairs, func(p pair) float64 { return across(p) / e.allowed(p) }))
	return []string{
		what,
		fmt.Sprintf("%.0f", median(pairs, func(p pair) float64 { return p.With.All.rate() })),
		fmt.Sprintf("%.3f", median(pairs, func(p pair) float64 { return p.With.All.cores() })),
		fmt.Sprint(len(pairs)),
		fmt.Sprintf("%.4f", median(pairs, e.allowed)),
		fmt.Sprintf("%.4f", median(pairs, across)),
		fmt.Sprintf("%.2f", v.Median), v.String(),
		fmt.Sprintf("%.2f", median(pairs, func(p pair) float64 { return inside(p) / e.allowed(p) })),
		fmt.Sprintf("%.0f %%", 100*median(pairs, func(p pair) float64 { return p.With.traced() })),
	}
}
