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
	e := &rest{}
	return harness.Experiment{Name: "rest", Title: "What the sidecar costs at rest", Answer: "What does the sidecar use when nothing happens?", Flags: e.flags, Measure: e.measure}
}

type rest struct {
	program
	warmup, span time.Duration
}

func (e *rest) flags(f *flag.FlagSet) {
	e.program.flags(f)
	f.DurationVar(&e.warmup, "warmup", 5*time.Second, "time before the measurement")
	f.DurationVar(&e.span, "span", time.Minute, "length of each measurement")
}

func (e *rest) measure(ctx context.Context, p *harness.Page) error {
	rows := [][]string{{"sidecar", "CPU apart from the probe's thread", "wake-ups/s", "RssAnon + RssShmem", "exports"}}
	once := func(name string, target ...string) error {
		row, err := e.once(ctx, name, target...)
		rows = append(rows, row)
		p.Logf("%v", row)
		return err
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
			rows = append(rows, harness.Row(withDotNet, "n/a: no .NET process here", "", "", ""))
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

// once measures one run of the sidecar.
func (e *rest) once(ctx context.Context, name string, args ...string) (row []string, err error) {
	e.exports.Store(0)
	s, err := e.run(0, append(args, "--board", filepath.Join(e.dir, "board"))...)
	if err != nil {
		return nil, err
	}
	row, err = e.usage(ctx, s.Process.Pid)
	if err != nil {
		s.kill()
		return nil, fmt.Errorf("%s: %w\n%s", name, err, s.log.String())
	}
	if _, err := s.stop(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(append([]string{name}, row...), fmt.Sprint(e.exports.Load())), nil
}

// usage measures a process. The last of threads that end meanwhile is missing.
func (e *rest) usage(ctx context.Context, pid int) ([]string, error) {
	if err := harness.Wait(ctx, e.warmup); err != nil {
		return nil, err
	}
	before, err := harness.Threads(pid)
	if err != nil {
		return nil, err
	}
	start, memory := time.Now(), uint64(0)
	for time.Since(start) < e.span {
		if err := harness.Wait(ctx, min(time.Second, e.span)); err != nil {
			return nil, err
		}
		now, err := harness.Memory(pid)
		if err != nil {
			return nil, err
		}
		memory = max(memory, now)
	}
	after, err := harness.Threads(pid)
	if err != nil {
		return nil, err
	}
	wall := time.Since(start).Seconds()
	sum := func(threads []harness.Thread) (cpu time.Duration, turns uint64) {
		for _, t := range threads {
			if t.Name != "otelgc-probe" { // which spins
				cpu, turns = cpu+t.CPU, turns+t.Turns
			}
		}
		return cpu, turns
	}
	cpu, turns := sum(after)
	cpuBefore, turnsBefore := sum(before)
	return []string{
		fmt.Sprintf("%.2f %%", 100*(cpu-cpuBefore).Seconds()/wall), fmt.Sprintf("%.0f", float64(turns-turnsBefore)/wall),
		fmt.Sprintf("%.1f MiB", float64(memory)/(1<<20)),
	}, nil
}
