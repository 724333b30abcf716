package service

import (
	"context"
	"flag"
	"fmt"
	"math"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
)

// Cost measures what otelgc costs a service, in CPU time per request.
func Cost() harness.Experiment {
	return harness.Experiment{Name: "cost", Title: "What otelgc costs a service", Answer: "How much CPU time does otelgc cost per request?", Measurement: new(cost)}
}

type cost struct {
	trials
	many, few int
	share     float64
}

func (e *cost) Flags(f *flag.FlagSet) {
	e.trials.flags(f)
	f.IntVar(&e.many, "pairs", 20, "pairs of runs at the default budget, below saturation")
	f.IntVar(&e.few, "few", 6, "pairs of runs of each other setting")
	f.Float64Var(&e.share, "share", 0.6, "rate, as a fraction of what the service can answer at most")
}

func lessThroughput(p pair) float64 { return 100 * (1 - p.With.Rate()/p.Without.Rate()) }

func (e *cost) Measure(ctx context.Context, p *harness.Page) error {
	if err := e.begin(p); err != nil {
		return err
	}
	spec := Spec{LiveMB: e.live}
	full, err := e.do(ctx, run{Spec: spec})
	if err != nil {
		return err
	}
	below := math.Ceil(e.share*full.Rate()/100) * 100
	p.Logf("saturation %.0f requests/s, rate %.0f", full.Rate(), below)

	costs := harness.NewTable("setting | requests/s | CPU per request without | pairs | CPU per request more, median | 95 % interval | time traced")
	saturated := harness.NewTable("setting | requests/s without | with | pairs | throughput less, median | 95 % interval")
	raw := harness.NewTable("setting | CPU per request more, %, pair by pair")
	cycles := full.CycleRate()
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
		more := pairs.More(shop.Usage.PerRequest)
		v := harness.Of(more)
		costs.Row("%s | %.0f | %.1f us | %d | %.2f %% | %v | %.0f %%", set.name, pairs.Without(shop.Usage.Rate), pairs.Without(shop.Usage.PerRequest),
			len(pairs), v.Median, v, 100*pairs.With(shop.Usage.TracedPart))
		raw.Row("%s | %s", set.name, harness.Raw(more))
		if i == 0 {
			cycles = pairs.Without(shop.Usage.CycleRate)
		}
		if set.rate == 0 {
			less := harness.Of(harness.Each(pairs, lessThroughput))
			saturated.Row("%s | %.0f | %.0f | %d | %.2f %% | %v", set.name, pairs.Without(shop.Usage.Rate), pairs.With(shop.Usage.Rate), len(pairs), less.Median, less)
		}
	}
	p.Para("A service of net/http and encoding/json that decodes, prices and answers an order of eight lines; %d MB long-lived heap, %.1f collections a second; %s. "+
		"It can answer %.0f requests/s; below saturation it gets %.0f, evenly, over %d connections. "+
		"With otelgc means its middleware, metrics through the SDK (read every 10 s) and events through the SDK's batching, dropped by the exporters. Without means none of these.",
		e.live, cycles, e.placement(), full.Rate(), below, e.conns)
	p.Table(costs)
	p.Table(saturated)
	e.paraRuns()
	p.Table(raw)
	return nil
}
