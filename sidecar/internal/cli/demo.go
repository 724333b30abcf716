package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/demo"
	"github.com/otelgc/otelgc/sidecar/internal/load"
)

// runDemo runs a sample service under load and prints who is to blame for p99.
func runDemo(e env, args []string) error {
	set := flag.NewFlagSet("demo", flag.ContinueOnError)
	duration := set.Duration("duration", demo.DefaultDuration, "how long the load lasts; with --arrivals the whole file unless given")
	rate := set.Float64("rate", demo.DefaultRate, "requests per second")
	heap := set.String("live-heap", fmt.Sprintf("%dMiB", demo.DefaultLiveHeap>>20), "what the service keeps alive")
	arrivals := set.String("arrivals", "", "replay recorded arrivals: a `file` with one per line, whole ns or seconds with a point")
	inject := set.String("inject", string(demo.InjectNone), "what to do to the service: none, forced-gc, stw or cpu-hog")
	seed := set.Uint64("seed", 1, "of what the requests ask for")
	asJSON := set.Bool("json", false, "print one JSON document")
	if err := parse(e, set, args); err != nil {
		return err
	}
	o := demo.Options{Seed: *seed}
	var err error
	if o.Inject, err = demo.ParseInject(*inject); err != nil {
		return wrong("--inject: %w", err)
	}
	if o.LiveHeap, err = parseSize(*heap); err != nil {
		return wrong("--live-heap: %w", err)
	}
	if o.LiveHeap < demo.MinLiveHeap || o.LiveHeap > demo.MaxLiveHeap {
		return wrong("--live-heap %s: want 1MiB to %dGiB", *heap, demo.MaxLiveHeap>>30)
	}
	if o.Schedule, err = schedule(set, *arrivals, *rate, *duration); err != nil {
		return err
	}
	if err := demo.CheckEnvironment(); err != nil {
		return wrongArgument{err}
	}
	report, err := demo.Run(e.ctx, o)
	if e.ctx.Err() != nil && errors.Is(err, context.Cause(e.ctx)) {
		return errors.New("interrupted")
	}
	if err != nil {
		return err
	}
	if *asJSON {
		return printJSON(e, report.Document())
	}
	return report.Print(e.stdout)
}

// schedule returns the arrivals: those of the file, or evenly spaced ones.
func schedule(set *flag.FlagSet, path string, rate float64, duration time.Duration) (load.Schedule, error) {
	if path == "" {
		s, err := load.Fixed(rate, duration)
		if err != nil {
			return nil, wrongArgument{err}
		}
		return s, nil
	}
	if given(set, "rate") {
		return nil, wrong("--rate and --arrivals: want one of them")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, wrong("open arrivals: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s, err := load.Parse(path, f)
	if err != nil {
		return nil, wrongArgument{err}
	}
	if given(set, "duration") {
		if duration <= 0 {
			return nil, wrong("--duration %v: want more than 0s", duration)
		}
		s = s.Until(duration)
	}
	return s, nil
}
