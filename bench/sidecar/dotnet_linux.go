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
	return harness.Experiment{Name: "dotnet", Title: "What the sidecar costs a .NET service", Answer: "What does the sidecar cost a .NET service, and itself?", Measurement: new(dotnet)}
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

func (b *dotnet) Flags(f *flag.FlagSet) {
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

func (b *dotnet) Measure(ctx context.Context, p *harness.Page) (err error) {
	if most := dotnetipc.MaxSessions - 4; b.sessions < 4 || b.sessions > most || b.sessions%2 != 0 {
		return fmt.Errorf("-sessions %d: want an even number from 4 to %d", b.sessions, most)
	}
	b.Page, b.attachedLine = p, "watching a .NET process"
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

// watch calls f while the sidecar watches n processes.
func (b *dotnet) watch(n int, args []string, f func(*process) error) ([]watched, error) {
	return b.around(n, append(args, "--mode", "periodic", "--board", "off"), f)
}

// byName has the sidecar watch all services.
func byName() []string { return []string{"--target", serviceName()} }

// setting is one way to watch one kind of service.
type setting struct {
	name  string
	pairs int
	args  func(pid int) []string
}

// stretch measures one stretch, behind some load that is not.
func (b *dotnet) stretch(ctx context.Context, s *dotnetService) (l stretch, err error) {
	if _, err := s.load(ctx, b.settle); err != nil {
		return l, err
	}
	return s.load(ctx, b.span)
}

// cost interleaves stretches with the sidecar and without it in one process,
// in the order ABBA, so that what changes in it with time favors neither.
func (b *dotnet) cost(ctx context.Context, set setting) (pairs harness.Pairs[stretch], all watched, err error) {
	err = b.withService(ctx, nil, func(s *dotnetService) (err error) {
		pairs, err = harness.Alternate(set.pairs, func(with bool) (l stretch, err error) {
			if with {
				var saw []watched
				saw, err = b.watch(1, set.args(s.PID()), func(*process) error {
					l, err = b.stretch(ctx, s)
					return err
				})
				all.add(saw)
			} else {
				l, err = b.stretch(ctx, s)
			}
			b.Logf("%s: with the sidecar %v: %.3f ms", set.name, with, l.perRequest())
			return l, err
		})
		return err
	})
	return pairs, all, err
}

func (b *dotnet) measureCost(ctx context.Context) error {
	table := harness.NewTable("setting | requests/s | collections/s | CPU per request without | pairs | CPU per request more, median | 95 % interval")
	raw := harness.NewTable("setting | CPU per request more, %, pair by pair")
	lost := uint64(0)
	for _, set := range []setting{
		{"`--target NAME`", b.pairs, func(int) []string { return byName() }},
		{"`--target PID`", b.few, func(pid int) []string { return []string{"--target", strconv.Itoa(pid)} }},
	} {
		if set.pairs == 0 {
			continue
		}
		pairs, saw, err := b.cost(ctx, set)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		more := pairs.More(stretch.perRequest)
		v := harness.Of(more)
		table.Row("%s | %.0f | %.1f | %.3f ms | %d | %.2f %% | %v", set.name, pairs.Without(stretch.rate), saw.rate(),
			pairs.Without(stretch.perRequest), len(pairs), v.Median, v)
		raw.Row("%s | %s", set.name, harness.Raw(more))
		lost += saw.Lost
	}
	b.Para("A .NET 10 server (azmcp, Workstation GC, concurrent) that answers one request after the other with 77 kB of JSON%s. "+
		"Within one process, after %v of load, stretches of %v with the sidecar attached and without it follow each other in the order ABBA, "+
		"each behind %v of load that is not measured. CPU is the process's own CPU clock over the requests that it answered: what the sidecar itself uses is not in it. "+
		"The sidecar exports to a receiver that takes all.", b.placement(), b.warmup, b.span, b.settle)
	b.Table(table)
	b.Para("`--target NAME` (or `auto`) is how it is run by default: collections, stops, and the counters of what the machine does to the process. "+
		"`--target PID` follows the process's threads, too. "+
		"Events lost in all: %d. "+
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
