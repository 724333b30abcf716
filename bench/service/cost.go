package service

import (
	"context"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// Cost measures what otelgc costs a service, in CPU time per request.
func Cost() harness.Experiment {
	e := &cost{}
	return harness.Experiment{Name: "cost", Title: "What otelgc costs a service", Answer: "How much CPU time does otelgc cost per request?", Flags: e.flags, Measure: e.measure}
}

type cost struct {
	trials
	many, few int
	share     float64
}

func (e *cost) flags(f *flag.FlagSet) {
	e.trials.flags(f, 5*time.Second, 25*time.Second, time.Minute, 16, true)
	f.IntVar(&e.many, "pairs", 20, "pairs of runs at the default budget, below saturation")
	f.IntVar(&e.few, "few", 6, "pairs of runs of each other setting")
	f.Float64Var(&e.share, "share", 0.6, "rate, as a fraction of what the service can answer at most")
}

// moreCPU returns how much more CPU time a request took with otelgc, in percent.
func moreCPU(p pair) float64 { return 100 * (p.With.All.perRequest()/p.Without.All.perRequest() - 1) }

func lessThroughput(p pair) float64 { return 100 * (1 - p.With.All.rate()/p.Without.All.rate()) }

func (e *cost) measure(ctx context.Context, p *harness.Page) error {
	if err := e.begin(p); err != nil {
		return err
	}
	spec := Spec{LiveMB: e.live}
	full, err := e.do(ctx, run{Spec: spec})
	if err != nil {
		return err
	}
	below := math.Ceil(e.share*full.All.rate()/100) * 100
	p.Logf("saturation %.0f requests/s, rate %.0f", full.All.rate(), below)

	costs := [][]string{{"setting", "requests/s", "CPU per request without", "pairs", "CPU per request more, median", "95 % interval", "time traced"}}
	saturated := [][]string{{"setting", "requests/s without", "with", "pairs", "throughput less, median", "95 % interval"}}
	raw := [][]string{{"setting", "CPU per request more, %, pair by pair"}}
	cycles := float64(full.Cycles) / full.All.Wall.Seconds()
	for i, set := range []struct {
		name         string
		pairs        int
		rate, budget float64 // a budget below zero is the default
	}{
		{"default budget (1 %)", e.many, below, -1},
		{"no exact tracing (0)", e.few, below, 0},
		{"tracing always (1)", e.few, below, 1},
		{"default budget, saturated", e.few, 0, -1},
	} {
		if set.pairs == 0 {
			continue
		}
		without := run{Spec: spec, rate: set.rate}
		with := without
		with.Monitor, with.Budget, with.wholeSlices = true, set.budget, set.budget < 0
		pairs, err := e.pairs(ctx, set.pairs, without, with)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		more := harness.Each(pairs, moreCPU)
		v := harness.Of(more)
		costs = append(costs, []string{set.name, fmt.Sprintf("%.0f", median(pairs, func(p pair) float64 { return p.Without.All.rate() })),
			fmt.Sprintf("%.1f us", median(pairs, func(p pair) float64 { return p.Without.All.perRequest() })), fmt.Sprint(len(pairs)),
			fmt.Sprintf("%.2f %%", v.Median), v.String(), fmt.Sprintf("%.0f %%", 100*median(pairs, func(p pair) float64 { return p.With.traced() }))})
		raw = append(raw, []string{set.name, harness.Raw(more)})
		if i == 0 {
			cycles = median(pairs, func(p pair) float64 { return float64(p.Without.Cycles) / p.Without.All.Wall.Seconds() })
		}
		if set.rate == 0 {
			less := harness.Of(harness.Each(pairs, lessThroughput))
			saturated = append(saturated, []string{set.name, fmt.Sprintf("%.0f", median(pairs, func(p pair) float64 { return p.Without.All.rate() })),
				fmt.Sprintf("%.0f", median(pairs, func(p pair) float64 { return p.With.All.rate() })), fmt.Sprint(len(pairs)), fmt.Sprintf("%.2f %%", less.Median), less.String()})
		}
	}
	p.Para("A service of net/http and encoding/json that decodes, prices and answers an order of eight lines; %d MB long-lived heap, %.1f collections a second; %s. "+
		"It can answer %.0f requests/s; below saturation it gets %.0f, evenly, over %d connections. "+
		"With otelgc means its middleware, metrics through the SDK (read every 10 s) and events through the SDK's batching, dropped by the exporters. Without means none of these.",
		e.live, cycles, e.placement(), full.All.rate(), below, e.conns)
	p.Table(costs)
	p.Table(saturated)
	e.paraRuns()
	p.Table(raw)
	return nil
}
