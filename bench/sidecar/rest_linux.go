package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service"
	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
)

// Rest measures what a sidecar costs that has nothing to do, alone and beside a Go
// and a .NET process.
func Rest() harness.Experiment {
	return harness.Experiment{Name: "rest", Title: "What the sidecar costs at rest", Answer: "What does the sidecar use when nothing happens?", Measurement: new(rest)}
}

type rest struct {
	program
	warmup, span time.Duration
}

func (e *rest) Flags(f *flag.FlagSet) {
	f.DurationVar(&e.warmup, "warmup", 5*time.Second, "time before the measurement")
	f.DurationVar(&e.span, "span", time.Minute, "length of each measurement")
}

func (e *rest) Measure(ctx context.Context, p *harness.Page) error {
	rows := harness.NewTable("sidecar | CPU apart from the probe's thread | wake-ups/s | RssAnon + RssShmem | exports")
	once := func(name string, target ...string) error {
		e.exports.Store(0)
		var use string
		_, err := e.around(0, append(target, "--board", filepath.Join(e.dir, "board")), func(s *process) (err error) {
			use, err = e.usage(ctx, s.Process.Pid)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows.Row("%s | %s | %d", name, use, e.exports.Load())
		p.Logf("%s: %s", name, use)
		return nil
	}
	err := e.with(ctx, func() (err error) {
		if err := once("alone"); err != nil {
			return err
		}
		c, _, err := service.Start(service.Spec{Forced: 1}, nil)
		if err != nil {
			return fmt.Errorf("start a Go process: %w", err)
		}
		defer func() { err = errors.Join(err, c.Stop(nil)) }()
		if err := once("with a Go process as its target", "--target", strconv.Itoa(c.Process.Pid)); err != nil {
			return err
		}
		const withDotNet = "with a .NET process as its target"
		dotnet, err := azmcp.Start(azmcp.Options{})
		if errors.Is(err, azmcp.ErrMissing) {
			rows.Row("%s | n/a: no .NET process here |  |  | ", withDotNet)
			return nil
		} else if err != nil {
			return err
		}
		defer dotnet.Kill()
		if err := dotnet.Initialize(); err != nil {
			return err
		}
		return once(withDotNet, "--target", strconv.Itoa(dotnet.PID()))
	})
	if err != nil {
		return err
	}
	p.Para("`otelgc-sidecar run` spins on one CPU, writes the board and exports over OTLP (http/protobuf, the default intervals) to a receiver on the same machine that takes all. "+
		"After %v, %v are measured: the CPU time of all its threads but the one that spins (schedstat), as a share of one CPU, and the maximum of RssAnon + RssShmem, read once a second. "+
		"A wake-up is a turn of one of those threads on a CPU; where others want the CPU, one may take several turns. The Go process is an HTTP service without requests that collects once a second; the .NET process has nothing to do.",
		e.warmup, e.span)
	p.Table(rows)
	return nil
}

// usage measures a process. The last of threads that end meanwhile is missing.
func (e *rest) usage(ctx context.Context, pid int) (cells string, err error) {
	if err := harness.Wait(ctx, e.warmup); err != nil {
		return "", err
	}
	cpuBefore, turnsBefore, err := besidesProbe(pid)
	start, memory := time.Now(), uint64(0)
	for err == nil && time.Since(start) < e.span {
		var now uint64
		if err = harness.Wait(ctx, min(time.Second, e.span)); err == nil {
			now, err = harness.Memory(pid)
		}
		memory = max(memory, now)
	}
	if err != nil {
		return "", err
	}
	cpu, turns, err := besidesProbe(pid)
	wall := time.Since(start).Seconds()
	return fmt.Sprintf("%.2f %% | %.0f | %.1f MiB", 100*(cpu-cpuBefore).Seconds()/wall, float64(turns-turnsBefore)/wall, float64(memory)/(1<<20)), err
}

// besidesProbe returns what the threads of a process used, but for the one that spins.
func besidesProbe(pid int) (cpu time.Duration, turns uint64, err error) {
	threads, err := harness.Threads(pid)
	for _, t := range threads {
		if t.Name != harness.ProbeThread {
			cpu, turns = cpu+t.CPU, turns+t.Turns
		}
	}
	return cpu, turns, err
}
