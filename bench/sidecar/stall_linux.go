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
	side, err := b.attach(len(all), byName(0)...)
	if err != nil {
		return err
	}
	held, cpu, err := b.holding(ctx, side, all)
	if err != nil {
		side.kill()
		return err
	}
	saw, err := side.stop()
	if err != nil {
		return err
	}
	collections, lost, watched := uint64(0), uint64(0), time.Duration(0)
	for _, w := range saw {
		collections, lost, watched = collections+w.Collections.Total, lost+w.Lost, max(watched, time.Duration(w.Watched))
	}
	b.Logf("%d targets: %.1f MiB", len(saw), float64(held)/(1<<20))
	b.Para("**The sidecar itself**, with %d such services at once (small gen0, %.0f collections a second in all, counters running, %v): "+
		"at most %.1f MiB of RssAnon + RssShmem, read every 100 ms; the goal of %d MiB is %s. It used %.1f %% of one CPU, its probe (periodic) and export included; %d events were lost.",
		len(saw), float64(collections)/max(1e-9, watched.Seconds()), b.memory, float64(held)/(1<<20), memoryGoal>>20, harness.Met(held <= memoryGoal), cpu, lost)
	return nil
}

// holding loads the services in turn, and returns the most that the sidecar
// held meanwhile, in bytes, and the CPU it used, in percent of one.
func (b *dotnet) holding(ctx context.Context, side *process, all []*dotnetService) (held uint64, cpu float64, err error) {
	pid := side.Process.Pid
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

// measureStall stops readers for a while, and looks what the service says to
// that: the sidecar as it is, and a reader of a flood of events that overflows
// the runtime's buffer.
func (b *dotnet) measureStall(ctx context.Context) error {
	service, err := b.start(ctx, b.warmup, smallGen0)
	if err != nil {
		return err
	}
	defer service.Kill()
	table := [][]string{{"requests answered", "for", "number/s", "p50", "p99", "longest"}}
	before, err := service.load(ctx, b.stall/3)
	if err != nil {
		return err
	}
	table = append(table, before.row("nobody attached"))
	stopped, saw, err := b.stopSidecar(ctx, service)
	if err != nil {
		return err
	}
	table = append(table, stopped.row("the sidecar attached and stopped (SIGSTOP)"))
	flooded, read, err := b.flood(ctx, service)
	if err != nil {
		return err
	}
	table = append(table, flooded.row("a flood of events that nobody reads"))
	after, err := service.load(ctx, b.stall/3)
	if err != nil {
		return err
	}
	table = append(table, after.row("nobody attached"))
	b.Para("**A reader that stalls** for %v, small gen0:", b.stall)
	b.Table(table)
	hole := saw.LastIndex - saw.FirstIndex + 1 - saw.Collections.Total
	b.Para("The sidecar that was stopped went on with the same session (%d in all): %d collections, %d missing among their numbers, %d incomplete, %d events lost. "+
		"Of the flood, with a buffer of %d MB, %d events had been kept and %d were dropped, each of them counted when the stream was read at last, to its end.",
		saw.Sessions, saw.Collections.Total, hole, saw.Incomplete, saw.Lost, floodMB, read.Events, read.Lost)
	return service.Stop()
}

func (l *stretch) row(name string) []string {
	ms := func(q float64) string { return fmt.Sprintf("%.1f ms", harness.Quantile(l.answers, q)) }
	rate := float64(len(l.answers)) / l.wall.Seconds()
	return []string{name, l.wall.Round(time.Second).String(), fmt.Sprintf("%.0f", rate), ms(0.5), ms(0.99), ms(1)}
}

// stopSidecar stops the sidecar in its tracks while it watches.
func (b *dotnet) stopSidecar(ctx context.Context, s *dotnetService) (l stretch, w watched, err error) {
	side, err := b.attach(1, byName(0)...)
	if err != nil {
		return l, w, err
	}
	l, err = func() (stretch, error) {
		if _, err := s.load(ctx, b.settle); err != nil {
			return l, err
		}
		if err := side.Process.Signal(syscall.SIGSTOP); err != nil {
			return l, err
		}
		l, err := s.load(ctx, b.stall)
		if err != nil {
			return l, err
		}
		if err := side.Process.Signal(syscall.SIGCONT); err != nil {
			return l, err
		}
		_, err = s.load(ctx, b.settle)
		return l, err
	}()
	if err != nil {
		side.kill()
		return l, w, err
	}
	saw, err := side.stop()
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
	e, err := dotnetipc.Proc{}.Locate(ctx, s.PID())
	if err != nil {
		return l, stats, err
	}
	client := dotnetipc.NewClient(e)
	client.Timeout = answerFor
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
