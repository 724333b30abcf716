// Command probes measures what a jitter probe does to the stop-the-world pauses
// of the service beside it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/service"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
	"github.com/otelgc/otelgc/jitterprobe"
)

func main() {
	service.Main()
	program().Main()
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "probes", Title: "What a probe does to the service beside it", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	trial.Bench
	rounds, forced, live int
	rate                 float64
}

func (e *experiment) flags(f *flag.FlagSet) {
	e.Flags(f, 2*time.Second, 10*time.Second, time.Minute)
	// A probe takes the last CPU that it may use; the service is to be free to
	// do so too, or the probe could not be in its way.
	e.Pin = false
	f.Lookup("pin").DefValue = "false"
	f.IntVar(&e.rounds, "rounds", 6, "runs of each setting")
	f.IntVar(&e.forced, "gcs", 50, "collections per second")
	f.IntVar(&e.live, "live", 8, "long-lived heap of the service, in `MB`")
	f.Float64Var(&e.rate, "rate", 500, "requests per second")
}

// setting is where a probe runs, and how.
type setting struct {
	name            string
	inside, outside string // modes
}

var settings = []setting{
	{"no probe", "", ""},
	{"`spin` in another process", "", "spin"},
	{"`spin` in the service", "spin", ""},
	{"`runtime` in the service", "runtime", ""},
	{"`periodic` in the service", "periodic", ""},
	{"a goroutine that spins", service.Goroutine, ""},
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	if err := e.Begin(log); err != nil {
		return err
	}
	all := make([]pooled, len(settings))
	for round := range e.rounds {
		// Each round begins with another one: none is always first.
		for i := range settings {
			k := (round + i) % len(settings)
			if err := e.once(ctx, settings[k], &all[k]); err != nil {
				return fmt.Errorf("%s: %w", settings[k].name, err)
			}
		}
	}
	e.write(s, all)
	return nil
}

// once runs the service in one setting, once, and adds what it saw to p.
func (e *experiment) once(ctx context.Context, set setting, p *pooled) error {
	if set.outside != "" {
		m, err := jitterprobe.ParseMode(set.outside)
		if err != nil {
			return err
		}
		probe, err := jitterprobe.Start(jitterprobe.Options{Mode: m})
		if err != nil {
			return fmt.Errorf("start probe: %w", err)
		}
		defer probe.Stop()
		p.note = probe.Note()
	}
	u, err := e.Do(ctx, trial.Run{Rate: e.rate, Spec: service.Spec{LiveMB: e.live, Forced: e.forced, Probe: set.inside}})
	if err != nil {
		return err
	}
	p.add(u)
	return nil
}
