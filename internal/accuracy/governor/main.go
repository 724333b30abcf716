// Command governor measures what exact tracing costs against what it may cost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
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
	return report.Program{Name: "governor", Title: "Exact tracing and its budget", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	trial.Bench
	pairs  int
	budget float64
	rate   float64
	live   int
	idle   int
	only   string
}

func (e *experiment) flags(f *flag.FlagSet) {
	e.Flags(f, 5*time.Second, time.Minute, 2*time.Minute)
	f.IntVar(&e.pairs, "pairs", 6, "pairs of runs of each service")
	f.Float64Var(&e.budget, "budget", 0.01, "exact budget")
	f.Float64Var(&e.rate, "rate", 20, "requests per second of the services that are not saturated")
	f.IntVar(&e.live, "live", 16, "long-lived heap of the service, in `MB`")
	f.IntVar(&e.idle, "idle", 100_000, "goroutines of the service that has idle ones")
	f.StringVar(&e.only, "only", "", "`names` of the services to run, such as quiet,saturated,idle; all of them without")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	if err := e.Begin(log); err != nil {
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
		without := trial.Run{Rate: c.rate, Spec: service.Spec{Monitor: true, LiveMB: e.live, Idle: c.idle}}
		with := without
		with.Budget, with.WholeSlices = e.budget, e.budget < 1
		pairs, err := e.Pairs(ctx, e.pairs, without, with)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, e.row(c.what, pairs))
	}
	e.write(s, rows)
	return nil
}
