package service

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// Governor measures what exact tracing costs against what it may cost.
func Governor() harness.Experiment {
	return harness.Experiment{Name: "governor", Title: "Exact tracing and its budget", Answer: "Does exact tracing keep to its budget?", Measurement: new(governor)}
}

type governor struct {
	trials
	many, idle int
}

func (e *governor) Flags(f *flag.FlagSet) {
	e.trials.flags(f, 5*time.Second, time.Minute, 2*time.Minute, 16, true)
	f.IntVar(&e.many, "pairs", 6, "pairs of runs of each service")
	f.IntVar(&e.idle, "idle", 100_000, "goroutines of the service that has idle ones")
}

func (e *governor) Measure(ctx context.Context, p *harness.Page) error {
	if err := e.begin(p); err != nil {
		return err
	}
	rows := harness.NewTable("service | requests/s | CPUs in use | pairs | budget, CPUs | cost, CPUs, median | " +
		"cost / budget, median | 95 % interval | the same inside the runs | time traced")
	for _, c := range []struct {
		name string
		rate float64
		idle int
	}{
		{"quiet", quietRate, 0},
		{"saturated", 0, 0},
		{fmt.Sprintf("%d idle goroutines", e.idle), quietRate, e.idle},
	} {
		without := run{rate: c.rate, Spec: Spec{Monitor: true, LiveMB: e.live, Idle: c.idle}}
		with := without
		with.Budget, with.wholeSlices = budget, true
		pairs, err := e.pairs(ctx, e.many, without, with)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		row(rows, c.name, pairs)
	}
	p.Para("Exact budget %.3g of the process's own CPU time, or %.1f %% of one CPU where that is more; %s. "+
		"Every run has otelgc in it; the runs of a pair differ in the budget, which is 0 in one of them.", budget, 100*floor, e.placement())
	p.Table(rows)
	p.Para("Cost is the CPU time beyond what as many requests took in the run that never traced, per second. " +
		"Inside the runs: the same for the slices against the time between them; it leaves out what is done after a slice, and the drift of the machine between runs.")
	e.paraRuns()
	return nil
}

const (
	// budget is the exact budget, and floor that of a process that uses nearly no CPU
	// time, in CPUs.
	budget, floor = 0.01, 0.005
	// quietRate is the requests per second of the services that are not saturated.
	quietRate = 20
)

// allowed returns the CPUs that tracing may use in a run.
func allowed(p pair) float64 { return max(floor, budget*p.With.cores()) }

// excess returns the CPUs that some used beyond what as many requests took
// otherwise, over the wall time of whole.
func excess(some, otherwise, whole Part) float64 {
	if otherwise.Served == 0 || whole.Wall <= 0 {
		return 0
	}
	return (some.CPU.Seconds() - otherwise.perRequest()/1e6*float64(some.Served)) / whole.Wall.Seconds()
}

// across compares the run that traced in slices with the one that never did.
func across(p pair) float64 { return excess(p.With.Part, p.Without.Part, p.With.Part) }

// inside compares the slices with the time between them, in the same run.
func inside(p pair) float64 {
	return excess(p.With.Traced, p.With.Part.plus(p.With.Traced, -1), p.With.Part)
}

// row adds the line of one service.
func row(to *harness.Table, what string, pairs pairs) {
	of := func(cost func(pair) float64) harness.Interval {
		return harness.Of(harness.Each(pairs, func(p pair) float64 { return cost(p) / allowed(p) }))
	}
	v := of(across)
	to.Row("%s | %.0f | %.3f | %d | %.4f | %.4f | %.2f | %v | %.2f | %.0f %%", what, pairs.With(Usage.rate), pairs.With(Usage.cores), len(pairs),
		harness.MedianOf(pairs, allowed), harness.MedianOf(pairs, across), v.Median, v, of(inside).Median, 100*pairs.With(Usage.traced))
}
