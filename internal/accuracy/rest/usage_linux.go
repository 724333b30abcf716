package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

// probeThread is the name of the thread that spins.
const probeThread = "otelgc-probe"

// usage is what a process used in a stretch of time.
type usage struct {
	wall, cpu time.Duration
	slices    uint64 // turns on a CPU
	memory    uint64 // the most that was seen, in bytes
}

// usage measures a process. Of threads that end meanwhile, the last is missing.
func (e *experiment) usage(ctx context.Context, pid int) (u usage, err error) {
	if err := wait(ctx, e.warmup); err != nil {
		return u, err
	}
	before, err := threadsOf(pid)
	if err != nil {
		return u, err
	}
	start := time.Now()
	for time.Since(start) < e.span {
		if err := wait(ctx, min(time.Second, e.span)); err != nil {
			return u, err
		}
		now, err := memoryOf(pid)
		if err != nil {
			return u, err
		}
		u.memory = max(u.memory, now)
	}
	after, err := threadsOf(pid)
	if err != nil {
		return u, err
	}
	u.wall = time.Since(start)
	for tid, t := range after {
		u.cpu += t.cpu - before[tid].cpu
		u.slices += t.slices - before[tid].slices
	}
	return u, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// thread is what the scheduler says of one thread
// (Documentation/scheduler/sched-stats.rst).
type thread struct {
	cpu    time.Duration
	slices uint64
}

// threadsOf returns the threads of a process but the probe's.
func threadsOf(pid int) (map[string]thread, error) {
	dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("list threads of process %d: it has ended", pid)
	}
	all := make(map[string]thread)
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil || strings.TrimSpace(string(name)) == probeThread {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(text))
		if len(f) != 3 {
			return nil, fmt.Errorf("read %s/schedstat: %q", dir, text)
		}
		ran, err1 := strconv.ParseInt(f[0], 10, 64)
		slices, err2 := strconv.ParseUint(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("read %s/schedstat: %q", dir, text)
		}
		all[filepath.Base(dir)] = thread{time.Duration(ran), slices}
	}
	return all, nil
}

// memoryOf returns RssAnon and RssShmem of a process together
// (proc_pid_status(5)).
func memoryOf(pid int) (sum uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/%d/status: %q", pid, line)
		}
		sum, found = sum+kb<<10, found+1
	}
	if found != 2 {
		return 0, fmt.Errorf("read /proc/%d/status: no RssAnon and RssShmem", pid)
	}
	return sum, nil
}

func (e *experiment) write(s *report.Section) {
	s.Para("`otelgc-sidecar run` spins on one CPU, writes the board and exports over OTLP (http/protobuf, the default intervals) to a receiver on the same machine that takes all. "+
		"After %v, %v are measured: the CPU time of all its threads but the one that spins (schedstat), as a share of one CPU, and the most that RssAnon and RssShmem were together, looked at once a second. "+
		"A wake-up is a turn of one of those threads on a CPU; where others want the CPU, one may take several turns. The Go process collects once a second, the .NET process has nothing to do.",
		e.warmup, e.span)
	s.Table(e.rows)
}
