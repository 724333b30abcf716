// Package demo measures whether the sidecar's demo is right: whether p99 is blamed on what
// was done to its service, run after run.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// Experiment runs the demo with seeds that are fixed beforehand, none twice.
func Experiment() harness.Experiment {
	return harness.Experiment{
		Name: "demo", Title: "Is the demo's p99 blamed on what was done to its service?",
		Answer: "is the demo's p99 blamed on what was done to its service?", Measurement: new(measurement),
	}
}

type measurement struct {
	runs, injected     int
	duration, shortest time.Duration
	path               string // of the sidecar
}

// Flags implements [harness.Measurement].
func (m *measurement) Flags(f *flag.FlagSet) {
	f.IntVar(&m.runs, "runs", 20, "runs with the collector, and as many without it")
	f.IntVar(&m.injected, "injected", 10, "runs of each injection")
	f.DurationVar(&m.duration, "duration", 15*time.Second, "the load of a run")
	f.DurationVar(&m.shortest, "short", 10*time.Second, "the load of a run with an injection")
}

// document is what is read of the demo's JSON.
type document struct {
	Headline string
	Latency  struct{ P99 time.Duration }

	Attribution []struct {
		Bucket string
		Time   time.Duration
		Share  map[string]float64
	}
}

// above returns the share of owners in the time of the requests above p99.
func (d *document) above(is func(owner string) bool) float64 {
	var part, whole float64
	for _, a := range d.Attribution {
		switch a.Bucket {
		case "p0-p50", "p50-p90", "p90-p99":
			continue
		}
		whole += float64(a.Time)
		for owner, f := range a.Share {
			if is(owner) {
				part += f * float64(a.Time)
			}
		}
	}
	return part / max(whole, 1)
}

func isGC(owner string) bool   { return strings.HasPrefix(owner, "gc.") }
func isLoad(owner string) bool { return owner == "queue" || owner == "generator" }

// names reports whether the headline blames what, perhaps.
func (d *document) names(what string) bool {
	_, blamed, _ := strings.Cut(d.Headline, ": ")
	return strings.HasPrefix(strings.TrimPrefix(blamed, "PERHAPS "), what)
}

// run runs the demo once.
func (m *measurement) run(ctx context.Context, seed int, load time.Duration, env string, args ...string) (*document, error) {
	args = append([]string{"demo", "--json", "--seed", strconv.Itoa(seed), "--duration", load.String()}, args...)
	cmd := exec.CommandContext(ctx, m.path, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %v: %w", cmd.Args[1:], err)
	}
	d := new(document)
	if err := json.Unmarshal(out, d); err != nil {
		return nil, fmt.Errorf("decode document of %v: %w", cmd.Args[1:], err)
	}
	return d, nil
}

// Measure implements [harness.Measurement].
func (m *measurement) Measure(ctx context.Context, page *harness.Page) error {
	return harness.TempDir(func(dir string) (err error) {
		if m.path, err = harness.BuildSidecar(ctx, dir); err != nil {
			return err
		}
		return errors.Join(m.collector(ctx, page), m.injections(ctx, page))
	})
}

const collectorName = "GARBAGE COLLECTION"

// collector runs the demo with and without the collector, with the same arrivals.
func (m *measurement) collector(ctx context.Context, page *harness.Page) error {
	seed := 0
	pairs, err := harness.Alternate(m.runs, func(with bool) (*document, error) {
		seed++
		env := "GOGC="
		if !with {
			env = "GOGC=off"
		}
		d, err := m.run(ctx, (seed+1)/2, m.duration, env)
		if err == nil {
			page.Logf("seed %d, %s: %s, p99 %v", (seed+1)/2, env, d.Headline, d.Latency.P99)
		}
		return d, err
	})
	if err != nil {
		return err
	}
	var first, never int
	var load, lower, least, most []float64
	table := harness.NewTable("seed | headline | gc.* above p99 | queue and load generator | p99 | p99 without the collector")
	for i, p := range pairs {
		with, without := p.With, p.Without
		if with.names(collectorName) {
			first++
		}
		if !without.names(collectorName) {
			never++
		}
		gc, p99 := with.above(isGC), float64(with.Latency.P99)/1e6
		load = append(load, with.above(isLoad))
		lower = append(lower, p99-float64(without.Latency.P99)/1e6)
		least = append(least, gc*p99)
		most = append(most, (gc+with.above(func(o string) bool { return o == "sched.gc" }))*p99)
		table.Row("%d | %s | %s | %s | %.1f ms | %.1f ms", i+1, strings.ToLower(strings.TrimPrefix(with.Headline, "TO BLAME FOR P99: ")),
			harness.Percent(gc), harness.Percent(load[i]), p99, float64(without.Latency.P99)/1e6)
	}
	measured, from, to := harness.Of(lower), harness.Median(least), harness.Median(most)
	bounds := []struct {
		text string
		met  bool
	}{
		{fmt.Sprintf("p99 is blamed on garbage collection in %d of %d runs, want all but one", first, m.runs), first >= m.runs-1},
		{fmt.Sprintf("queue and load generator have %s of the time above p99 at the median, want less than a quarter", harness.Percent(harness.Median(load))), harness.Median(load) < 0.25},
		{fmt.Sprintf("without the collector it is blamed in %d of %d runs, want none", m.runs-never, m.runs), never == m.runs},
		{fmt.Sprintf("p99 is lower without it by %.1f ms (95 %%: %s); it was charged with %.1f ms of p99, and with sched.gc, an upper bound, %.1f ms", measured.Median, measured.Text(1), from, to),
			measured.Low <= to && measured.High >= from},
	}
	page.Para("The service lives with little memory: GOGC=25, and one order in 40 allocates some 10 MB. Seeds 1 to %d, none repeated; each once with its collector and once with GOGC=off, in turns, %v each.", m.runs, m.duration)
	page.Table(table)
	return conclude(page, bounds)
}

func conclude(page *harness.Page, bounds []struct {
	text string
	met  bool
}) (err error) {
	for _, b := range bounds {
		page.Para("- %s: %s.", b.text, harness.Met(b.met))
		if !b.met {
			err = harness.ErrUnmet
		}
	}
	return err
}

// injections runs the demo with something done to its service.
func (m *measurement) injections(ctx context.Context, page *harness.Page) error {
	table := harness.NewTable("injected | runs | named | not known | another named")
	var failed error
	for _, in := range []struct{ what, name string }{
		{"forced-gc", collectorName}, {"stw", "STOPS OF THE RUNTIME"}, {"cpu-hog", "THE MACHINE"}, {"throttle", "THE MACHINE"},
	} {
		named, unknown := 0, 0
		for seed := range m.injected {
			d, err := m.run(ctx, seed+1, m.shortest, "GOGC=", "--inject", in.what)
			if err != nil {
				return err
			}
			page.Logf("%s, seed %d: %s", in.what, seed+1, d.Headline)
			switch {
			case d.names("NOT KNOWN"):
				unknown++
			case d.names(in.name):
				named++
			}
		}
		table.Row("%s | %d | %d | %d | %d", in.what, m.injected, named, unknown, m.injected-named-unknown)
		if named+unknown < m.injected || unknown > 1 {
			failed = harness.ErrUnmet
		}
	}
	page.Para("What is done to the service, %v each; it is to be named in all runs but one, and nothing else in any:", m.shortest)
	page.Table(table)
	return failed
}
