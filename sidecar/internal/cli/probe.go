package cli

import (
	"flag"
	"log/slog"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
)

// maxDuration bounds every run that ends by itself.
const maxDuration = 24 * time.Hour

// probe probes for some seconds and prints what it saw.
func probe(e env, args []string) error {
	set := flag.NewFlagSet("probe", flag.ContinueOnError)
	var flags probeFlags
	flags.add(set)
	duration := set.Duration("duration", 10*time.Second, "how long")
	asJSON := set.Bool("json", false, "print one JSON document")
	if err := parse(e, set, args); err != nil {
		return err
	}
	o, err := flags.options()
	if err != nil {
		return err
	}
	if *duration <= 0 || *duration > maxDuration {
		return wrong("--duration %v: want more than 0s and at most %v", *duration, maxDuration)
	}
	p, err := start(o)
	if err != nil {
		return err
	}
	var kept gaps.Log
	read := make(chan struct{})
	go func() {
		defer close(read)
		for g := range p.All() {
			kept.Add(g)
		}
	}()
	if n := p.Note(); n != "" {
		slog.New(slog.NewTextHandler(e.stderr, nil)).Warn("the probe does not run as asked", "mode", p.Mode().String(), "why", n)
	}
	wait(e, *duration)
	summary := p.Stop()
	<-read
	report := gaps.NewReport(summary, &kept, threshold(o, p.Mode()))
	report.Limits = p.Limits()
	if *asJSON {
		return printJSON(e, report.Document())
	}
	return report.Print(e.stdout)
}

// wait returns after d, or when the verb is to end. Zero is for ever.
func wait(e env, d time.Duration) {
	var after <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-e.ctx.Done():
	case <-after:
	}
}

// threshold returns the one that is in force.
func threshold(o jitterprobe.Options, m jitterprobe.Mode) time.Duration {
	switch {
	case o.Threshold > 0:
		return o.Threshold
	case m == jitterprobe.Periodic:
		return jitterprobe.DefaultPeriodicThreshold
	}
	return jitterprobe.DefaultThreshold
}
