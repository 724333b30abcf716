package sidecar

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// memoryGoal is what the sidecar may hold with five targets.
const memoryGoal = 25 << 20

// measureMemory watches several services at once, and the sidecar's memory.
func (b *dotnet) measureMemory(ctx context.Context) error {
	var all []*dotnetService
	defer func() {
		for _, v := range all {
			v.Kill()
		}
	}()
	for range b.targets {
		v, err := b.start(ctx, b.warmup/5, smallGen0)
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	var held uint64
	var cpu float64
	saw, err := b.watch(len(all), byName(), func(side *process) (err error) {
		held, cpu, err = b.holding(ctx, side.Process.Pid, all)
		return err
	})
	if err != nil {
		return err
	}
	var sum watched
	sum.add(saw)
	sum.Watched = 0 // they are watched at once
	for _, w := range saw {
		sum.Watched = max(sum.Watched, w.Watched)
	}
	b.Logf("%d targets: %.1f MiB", len(saw), float64(held)/(1<<20))
	b.Para("**The sidecar itself**, with %d such services at once (small gen0, %.0f collections a second in all, counters running, %v): "+
		"at most %.1f MiB of RssAnon + RssShmem, read every 100 ms; the goal of %d MiB is %s. It used %.1f %% of one CPU, its probe (periodic) and export included; %d events were lost.",
		len(saw), sum.rate(), b.memory, float64(held)/(1<<20), memoryGoal>>20, harness.Met(held <= memoryGoal), cpu, sum.Lost)
	return nil
}

// holding loads the services in turn, and returns the most that the sidecar
// held meanwhile, in bytes, and the CPU it used, in percent of one.
func (b *dotnet) holding(ctx context.Context, pid int, all []*dotnetService) (held uint64, cpu float64, err error) {
	begin := time.Now()
	before, err := harness.CPU(pid)
	if err != nil {
		return 0, 0, err
	}
	for time.Since(begin) < b.memory {
		for _, v := range all {
			if _, err := v.load(ctx, 100*time.Millisecond/time.Duration(len(all))); err != nil {
				return 0, 0, err
			}
		}
		now, err := harness.Memory(pid)
		if err != nil {
			return 0, 0, err
		}
		held = max(held, now)
	}
	after, err := harness.CPU(pid)
	return held, 100 * (after - before).Seconds() / time.Since(begin).Seconds(), err
}

// measureStall stops a reader for a while, and measures how long the service takes to
// answer meanwhile. It does so with the sidecar as it is, and with a reader that asks
// for a flood of events, which fills the runtime's buffer.
func (b *dotnet) measureStall(ctx context.Context) error {
	return b.withService(ctx, []string{smallGen0}, func(s *dotnetService) error {
		var saw watched
		var read nettrace.Stats
		table := harness.NewTable("requests answered | for | number/s | p50 | p99 | longest")
		alone := func() (stretch, error) { return s.load(ctx, b.stall/3) }
		for _, part := range []struct {
			name string
			load func() (stretch, error)
		}{
			{"nobody attached", alone},
			{"the sidecar attached and stopped (SIGSTOP)", func() (l stretch, err error) { l, saw, err = b.stopSidecar(ctx, s); return l, err }},
			{"a flood of events that nobody reads", func() (l stretch, err error) { l, read, err = b.flood(ctx, s); return l, err }},
			{"nobody attached", alone},
		} {
			l, err := part.load()
			if err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
			ms := func(q float64) float64 { return harness.Quantile(l.answers, q) }
			table.Row("%s | %v | %.0f | %.1f ms | %.1f ms | %.1f ms", part.name, l.wall.Round(time.Second), l.rate(), ms(0.5), ms(0.99), ms(1))
		}
		b.Para("**A reader that stalls** for %v, small gen0:", b.stall)
		b.Table(table)
		hole := saw.LastIndex - saw.FirstIndex + 1 - saw.Collections.Total
		b.Para("The sidecar that was stopped went on with the same session (%d in all): %d collections, %d missing among their numbers, %d incomplete, %d events lost. "+
			"Of the flood, with a buffer of %d MB, %d events had been kept and %d were dropped, each of them counted when the stream was read at last, to its end.",
			saw.Sessions, saw.Collections.Total, hole, saw.Incomplete, saw.Lost, floodMB, read.Events, read.Lost)
		return nil
	})
}

// stopSidecar stops the sidecar in its tracks while it watches.
func (b *dotnet) stopSidecar(ctx context.Context, s *dotnetService) (l stretch, w watched, err error) {
	saw, err := b.watch(1, byName(), func(side *process) error {
		if _, err := s.load(ctx, b.settle); err != nil {
			return err
		}
		if err := side.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		if l, err = s.load(ctx, b.stall); err != nil {
			return err
		}
		if err := side.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		_, err := s.load(ctx, b.settle)
		return err
	})
	if err != nil {
		return l, w, err
	}
	b.Logf("stopped for %v: %+v", b.stall, saw[0])
	return l, saw[0], nil
}

// floodMB is the runtime's buffer for the flood.
const floodMB = 1

// flooding asks for all that a busy server has to say.
func flooding() dotnetipc.Request {
	return dotnetipc.Request{BufferMB: floodMB, Providers: []dotnetipc.Provider{
		// GC, loader, JIT, exceptions, threading.
		{Name: "Microsoft-Windows-DotNETRuntime", Keywords: 0x1 | 0x8 | 0x10 | 0x8000 | 0x10000, Level: 5},
		{Name: "System.Threading.Tasks.TplEventSource", Keywords: 0x3ff, Level: 5},
	}}
}

// flood begins a session and reads nothing of it for a while, then all.
func (b *dotnet) flood(ctx context.Context, s *dotnetService) (l stretch, stats nettrace.Stats, err error) {
	client, err := s.client(ctx)
	if err != nil {
		return l, stats, err
	}
	session, err := client.Collect(ctx, flooding())
	if err != nil {
		return l, stats, err
	}
	defer func() { _ = session.Close() }()
	if l, err = s.load(ctx, b.stall); err != nil {
		return l, stats, err
	}
	var readErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		stats, readErr = readAll(session, nettrace.Options{}, func(*nettrace.Event) {})
	}()
	limit, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	if err := session.Stop(limit); err != nil {
		return l, stats, err
	}
	<-done
	b.Logf("flood for %v: %+v", b.stall, stats)
	return l, stats, readErr
}
