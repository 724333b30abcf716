// Command cost measures what otelgc costs a service, in CPU time per request.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/service"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
)

func main() {
	service.Main()
	program().Main()
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "cost", Title: "What otelgc costs a service", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	trial.Bench
	pairs, few int
	share      float64
	live       int
	saturation float64 // requests per second, measured first
}

func (e *experiment) flags(f *flag.FlagSet) {
	e.Flags(f, 5*time.Second, 25*time.Second, time.Minute)
	f.IntVar(&e.pairs, "pairs", 20, "pairs of runs at the default budget, below saturation")
	f.IntVar(&e.few, "few", 6, "pairs of runs of each other setting")
	f.Float64Var(&e.share, "share", 0.6, "rate, as a fraction of what the service can answer at most")
	f.IntVar(&e.live, "live", 16, "long-lived heap of the service, in `MB`")
}

// without and with are the two runs of a pair; a budget below zero is the
// default.
func (e *experiment) without(rate float64) trial.Run {
	return trial.Run{Spec: service.Spec{LiveMB: e.live}, Rate: rate}
}

func (e *experiment) with(rate, budget float64) trial.Run {
	r := e.without(rate)
	r.Monitor, r.Budget = true, budget
	r.WholeSlices = budget != 0 && budget != 1
	return r
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	if err := e.Begin(log); err != nil {
		return err
	}
	full, err := e.Do(ctx, e.without(0))
	if err != nil {
		return err
	}
	e.saturation = float64(full.All.Served) / full.All.Wall.Seconds()
	rate := math.Ceil(e.share*e.saturation/100) * 100
	e.Log("saturation %.0f requests/s, rate %.0f", e.saturation, rate)

	settings := []struct {
		name         string
		pairs        int
		rate, budget float64
	}{
		{"default budget (1 %)", e.pairs, rate, -1},
		{"no exact tracing (0)", e.few, rate, 0},
		{"tracing always (1)", e.few, rate, 1},
		{"default budget, saturated", e.few, 0, -1},
	}
	t := newTables()
	for _, set := range settings {
		pairs, err := e.Pairs(ctx, set.pairs, e.without(set.rate), e.with(set.rate, set.budget))
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		t.add(set.name, set.rate, pairs)
	}
	e.write(s, t, rate)
	return nil
}
