package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

// memoryGoal is what the sidecar may hold with five targets.
const memoryGoal = 25 << 20

// measureMemory watches several services at once, and the sidecar's memory.
func (b *bench) measureMemory(ctx context.Context, s *report.Section) (err error) {
	var all []*service
	defer func() {
		for _, v := range all {
			v.Kill()
		}
	}()
	for range b.targets {
		v, err := b.startWarm(ctx, b.warmup/5, "DOTNET_GCgen0size=40000")
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
	saw, err := side.detach()
	if err != nil {
		return err
	}
	collections, lost, watched := uint64(0), uint64(0), time.Duration(0)
	for _, w := range saw {
		collections, lost, watched = collections+w.Collections.Total, lost+w.Lost, max(watched, time.Duration(w.Watched))
	}
	met := "met"
	if held > memoryGoal {
		met = "NOT met"
	}
	b.say("%d targets: %.1f MiB", len(saw), float64(held)/(1<<20))
	s.Para("**The sidecar itself**, with %s at once (small gen0, %.0f collections a second in all, counters running, %v): "+
		"at most %.1f MiB of RssAnon + RssShmem, read every 100 ms; the goal of %d MiB is %s. It used %.1f %% of one CPU, its probe (periodic) and export included; %d events were lost.",
		services(len(saw)), float64(collections)/max(1e-9, watched.Seconds()), b.memory, float64(held)/(1<<20), memoryGoal>>20, met, cpu, lost)
	return nil
}

func services(n int) string {
	if n == 1 {
		return "1 such service"
	}
	return fmt.Sprintf("%d such services", n)
}

// holding loads the services in turn, and returns the most that the sidecar
// held meanwhile, in bytes, and the CPU it used, in percent of one.
func (b *bench) holding(ctx context.Context, side *sidecar, all []*service) (held int64, cpu float64, err error) {
	pid := side.cmd.Process.Pid
	begin := time.Now()
	before, err := cpuOf(pid)
	if err != nil {
		return 0, 0, err
	}
	for time.Since(begin) < b.memory {
		for _, v := range all {
			if _, err := v.load(ctx, 100*time.Millisecond/time.Duration(len(all))); err != nil {
				return 0, 0, err
			}
		}
		now, err := memoryOf(pid)
		if err != nil {
			return 0, 0, err
		}
		held = max(held, now)
	}
	after, err := cpuOf(pid)
	return held, 100 * (after - before).Seconds() / time.Since(begin).Seconds(), err
}

// memoryOf returns what a process holds that is its own: RssAnon and RssShmem
// of proc_pid_status(5), in bytes.
func memoryOf(pid int) (sum int64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	found := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		var kb int64
		if _, err := fmt.Sscan(value, &kb); err != nil {
			return 0, fmt.Errorf("read %s of process %d: %w", name, pid, err)
		}
		sum += kb << 10
		found++
	}
	if found != 2 {
		return 0, errors.New("the kernel does not tell RssAnon and RssShmem")
	}
	return sum, nil
}
