package service

import (
	"context"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// Probes measures what a jitter probe does to the stop-the-world pauses of the
// service beside it.
func Probes() harness.Experiment {
	return harness.Experiment{Name: "probes", Title: "What a probe does to the service beside it", Answer: "Does a probe make a service's pauses longer?", Measurement: new(probes)}
}

type probes struct {
	trials
	rounds int
	rate   float64
}

func (e *probes) Flags(f *flag.FlagSet) {
	// A probe takes the last CPU that it may use. The service may use it too, or the
	// probe could not be in its way.
	e.trials.flags(f, 2*time.Second, 10*time.Second, time.Minute, 8, false)
	f.IntVar(&e.rounds, "rounds", 6, "runs of each setting")
	f.Float64Var(&e.rate, "rate", 500, "requests per second")
}

// forced is how many collections there are per second.
const forced = 50

// settings are where a probe runs, and in which mode.
var settings = []struct {
	name, mode string
	outside    bool
}{
	{"no probe", "", false},
	{"`spin` in another process", "spin", true},
	{"`spin` in the service", "spin", false},
	{"`runtime` in the service", "runtime", false},
	{"`periodic` in the service", "periodic", false},
	{"a goroutine that spins", goroutine, false},
}

func (e *probes) Measure(ctx context.Context, p *harness.Page) error {
	if err := e.begin(p); err != nil {
		return err
	}
	bounds := harness.Histogram(harness.Stops).Buckets
	all := make([]Usage, len(settings)) // of all runs of a setting
	for round := range e.rounds {
		for i := range settings {
			k := (round + i) % len(settings) // none is always first
			u, err := e.once(ctx, k)
			if err != nil {
				return fmt.Errorf("%s: %w", settings[k].name, err)
			}
			all[k] = all[k].plus(u, 1)
			all[k].Note = u.Note
		}
	}
	p.Para("Stop-the-world pauses for garbage collection of a service of %.0f requests/s that collects %d times a second (forced), %d MB long-lived heap, "+
		"in microseconds, by the runtime's own metrics, whose buckets are a fifth of their value wide. %d runs of %v each, in turn; %s.",
		e.rate, forced, e.live, e.rounds, e.span, e.placement())
	rows := harness.NewTable("probe | collections/s | stopping p50 | p90 | max | whole pause p50 | p90 | max | CPUs of the service's process")
	for i, u := range all {
		quantiles := ""
		for _, counts := range [][]uint64{u.Stopping, u.Stops} {
			for _, q := range []float64{0.5, 0.9, 1} {
				quantiles += micros(quantile(counts, bounds, q)) + " | "
			}
		}
		rows.Row("%s | %.0f | %s%.3f", settings[i].name, u.cycles(), quantiles, u.cores())
	}
	p.Table(rows)
	for i, u := range all {
		if u.Note != "" {
			p.Para("%s did not run as asked for: %s.", settings[i].name, u.Note)
		}
	}
	return nil
}

// once runs the service in one setting.
func (e *probes) once(ctx context.Context, k int) (Usage, error) {
	set := settings[k]
	r := run{rate: e.rate, Spec: Spec{LiveMB: e.live, Forced: forced, Probe: set.mode}}
	if !set.outside {
		return e.do(ctx, r)
	}
	r.Probe = ""
	note, stop, err := startProbe(set.mode)
	if err != nil {
		return Usage{}, err
	}
	defer stop()
	u, err := e.do(ctx, r)
	u.Note = note
	return u, err
}

// quantile returns the middle of the bucket of rank q, in microseconds.
func quantile(counts []uint64, bounds []float64, q float64) float64 {
	var total, seen uint64
	for _, n := range counts {
		total += n
	}
	rank := max(1, uint64(math.Ceil(q*float64(total))))
	for i, n := range counts {
		if seen += n; seen >= rank {
			return 1e6 * middle(bounds[i], bounds[i+1])
		}
	}
	return math.NaN()
}

// micros writes a number of microseconds to the precision of the buckets.
func micros(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// middle returns the geometric middle of a bucket. One of its bounds may be zero
// or infinite.
func middle(low, high float64) float64 {
	switch {
	case math.IsInf(low, -1) || low <= 0:
		return max(high, 0)
	case math.IsInf(high, 1):
		return low
	}
	return math.Sqrt(low * high)
}
