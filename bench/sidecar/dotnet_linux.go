package sidecar

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// DotNet measures what the sidecar costs a .NET service and itself, and what happens
// when it does not read.
func DotNet() harness.Experiment {
	b := &dotnet{}
	return harness.Experiment{Name: "dotnet", Title: "What the sidecar costs a .NET service", Answer: "What does the sidecar cost a .NET service, and itself?", Flags: b.flags, Measure: b.measure}
}

type dotnet struct {
	program
	*harness.Page
	pairs, few           int
	warmup, settle, span time.Duration
	rounds, sessions     int
	beat                 time.Duration
	stall, memory        time.Duration
	targets              int
	pin                  bool
	cpus                 []int // of the service; nil: anywhere
}

func (b *dotnet) flags(f *flag.FlagSet) {
	b.program.flags(f)
	f.IntVar(&b.pairs, "pairs", 14, "pairs of stretches as the sidecar is run by default")
	f.IntVar(&b.few, "few", 6, "pairs of stretches of each other setting")
	f.DurationVar(&b.warmup, "warmup", 8*time.Second, "load before anything is measured, in each process")
	f.DurationVar(&b.settle, "settle", 500*time.Millisecond, "load before each stretch")
	f.DurationVar(&b.span, "span", 2*time.Second, "length of a stretch")
	f.IntVar(&b.rounds, "rounds", 16, "rounds of stretches with many sessions at once; 0 leaves them out")
	f.IntVar(&b.sessions, "sessions", 40, "the most sessions at once then, of the 64 that a process has")
	f.DurationVar(&b.beat, "beat", 500*time.Millisecond, "length of a stretch then")
	f.DurationVar(&b.stall, "stall", 30*time.Second, "how long a reader stalls; 0 leaves it out")
	f.DurationVar(&b.memory, "memory", 30*time.Second, "how long the sidecar's memory is watched; 0 leaves it out")
	f.IntVar(&b.targets, "targets", 5, "processes that are watched at once then")
	f.BoolVar(&b.pin, "pin", true, "run the service on half of the CPUs, load and sidecar on the others")
}

func (b *dotnet) measure(ctx context.Context, p *harness.Page) (err error) {
	if most := dotnetipc.MaxSessions - 4; b.sessions < 4 || b.sessions > most || b.sessions%2 != 0 {
		return fmt.Errorf("-sessions %d: want an even number from 4 to %d", b.sessions, most)
	}
	b.Page = p
	if b.pin {
		if b.cpus, err = harness.Split(); err != nil {
			return err
		}
	}
	return b.with(ctx, func() error {
		for _, part := range []struct {
			name    string
			wanted  bool
			measure func(context.Context) error
		}{
			{"cost", true, b.measureCost}, {"many sessions", b.rounds > 0, b.measureSessions},
			{"memory", b.memory > 0, b.measureMemory}, {"stalled reader", b.stall > 0, b.measureStall},
		} {
			if !part.wanted {
				continue
			}
			if err := part.measure(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
		return nil
	})
}

// attach starts the sidecar and returns when it watches n processes.
func (b *dotnet) attach(n int, args ...string) (*process, error) {
	return b.run(n, append(args, "--mode", "periodic", "--board", "off")...)
}

// setting is one way to watch one kind of service.
type setting struct {
	name  string
	pairs int
	args  func(pid int) []string
}

func byName(int) []string    { return []string{"--target", serviceName()} }
func byPID(pid int) []string { return []string{"--target", strconv.Itoa(pid)} }
func allocating(int) []string {
	return []string{"--target", serviceName(), "--allocations"}
}

func (b *dotnet) settings() []setting {
	return []setting{
		{"`--target NAME`", b.pairs, byName},
		{"`--target PID`", b.few, byPID},
		{"`--target NAME --allocations`", b.few, allocating},
	}
}

// pair is a stretch without the sidecar and one with it.
type pair = harness.Pair[stretch]

func more(p pair) float64 { return p.With.more(&p.Without) }

// costOf is the result of a setting.
type costOf struct {
	pairs       []pair
	collections uint64
	watched     time.Duration
	lost        uint64
}

// cost interleaves stretches with the sidecar and without it in one process,
// in the order ABBA, so that what changes in it with time favors neither.
func (b *dotnet) cost(ctx context.Context, set setting) (c costOf, err error) {
	s, err := b.start(ctx, b.warmup)
	if err != nil {
		return c, err
	}
	defer s.Kill()
	c.pairs, err = harness.Pairs(set.pairs, func(with bool) (l stretch, err error) {
		if with {
			l, err = b.stretchWith(ctx, s, set, &c)
		} else {
			l, err = b.stretch(ctx, s)
		}
		b.Logf("%s: with the sidecar %v: %v", set.name, with, l.perRequest())
		return l, err
	})
	if err != nil {
		return c, err
	}
	return c, s.Stop()
}

// stretch measures one stretch, behind some load that is not.
func (b *dotnet) stretch(ctx context.Context, s *dotnetService) (l stretch, err error) {
	if _, err := s.load(ctx, b.settle); err != nil {
		return l, err
	}
	return s.load(ctx, b.span)
}

func (b *dotnet) stretchWith(ctx context.Context, s *dotnetService, set setting, c *costOf) (l stretch, err error) {
	side, err := b.attach(1, set.args(s.PID())...)
	if err != nil {
		return l, err
	}
	if l, err = b.stretch(ctx, s); err != nil {
		side.kill()
		return l, err
	}
	saw, err := side.stop()
	if err != nil {
		return l, err
	}
	c.collections += saw[0].Collections.Total
	c.watched += time.Duration(saw[0].Watched)
	c.lost += saw[0].Lost
	return l, nil
}

func (b *dotnet) measureCost(ctx context.Context) error {
	table := [][]string{{"setting", "requests/s", "collections/s", "CPU per request without", "pairs", "CPU per request more, median", "95 % interval"}}
	raw := [][]string{{"setting", "CPU per request more, %, pair by pair"}}
	lost := uint64(0)
	for _, set := range b.settings() {
		if set.pairs == 0 {
			continue
		}
		c, err := b.cost(ctx, set)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		table, raw = append(table, c.row(set.name)), append(raw, []string{set.name, harness.Raw(harness.Each(c.pairs, more))})
		lost += c.lost
	}
	b.Para("A .NET 10 server (azmcp, Workstation GC, concurrent) that answers one request after the other with 77 kB of JSON%s. "+
		"Within one process, after %v of load, stretches of %v with the sidecar attached and without it follow each other in the order ABBA, "+
		"each behind %v of load that is not measured. CPU is the process's own CPU clock over the requests that it answered: what the sidecar itself uses is not in it. "+
		"The sidecar exports to a receiver that takes all.", b.placement(), b.warmup, b.span, b.settle)
	b.Table(table)
	b.Para("`--target NAME` (or `auto`) is how it is run by default: collections, stops, and the counters of what the machine does to the process. "+
		"`--target PID` follows the process's threads, too. "+
		"`--allocations` asks for an event about every 100 kB that are allocated. Events lost in all: %d. "+
		"Intervals here and below are those of the median by order statistics, no distribution assumed. The goal is below 1 %%: "+
		"where the interval is wider than that, this table only shows that nothing large was overlooked, and the next one has the figure.", lost)
	b.Table(raw)
	return nil
}

func (b *dotnet) placement() string {
	if b.cpus == nil {
		return ""
	}
	return fmt.Sprintf(", pinned to CPU %v; load and sidecar have the others", b.cpus)
}

func (c *costOf) row(name string) []string {
	v := harness.Of(harness.Each(c.pairs, more))
	rate := harness.Median(harness.Each(c.pairs, func(p pair) float64 { return float64(len(p.Without.answers)) / p.Without.wall.Seconds() }))
	cpu := harness.Median(harness.Each(c.pairs, func(p pair) float64 { return p.Without.perRequest().Seconds() * 1e3 }))
	return []string{
		name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.1f", float64(c.collections)/max(1e-9, c.watched.Seconds())),
		fmt.Sprintf("%.3f ms", cpu), strconv.Itoa(len(c.pairs)), fmt.Sprintf("%.2f %%", v.Median), v.String(),
	}
}
