// Command cost measures what otelgc costs a service, in CPU time per request.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/service"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
)

func main() {
	service.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// experiment is what the flags say.
type experiment struct {
	trial.Bench
	pairs, few int
	share      float64
	live       int
	saturation float64 // requests per second, measured first
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	var e experiment
	var o report.Output
	f := flag.NewFlagSet("cost", flag.ContinueOnError)
	f.SetOutput(log)
	e.Flags(f, 5*time.Second, 25*time.Second, time.Minute)
	o.Flag(f)
	f.IntVar(&e.pairs, "pairs", 20, "pairs of runs at the default budget, below saturation")
	f.IntVar(&e.few, "few", 6, "pairs of runs of each other setting")
	f.Float64Var(&e.share, "share", 0.6, "rate, as a fraction of what the service can answer at most")
	f.IntVar(&e.live, "live", 16, "long-lived heap of the service, in `MB`")
	if err := f.Parse(args); err != nil {
		return err
	}
	e.Log = func(format string, args ...any) {
		fmt.Fprintf(log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
	}
	if err := e.Pins(); err != nil {
		return err
	}
	s := report.New("What otelgc costs a service")
	if err := e.measure(ctx, s); err != nil {
		return err
	}
	return o.Write(out, s)
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

func (e *experiment) measure(ctx context.Context, s *report.Section) error {
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
