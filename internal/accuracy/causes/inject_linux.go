package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// quota makes a cgroup that the child joins, in whichever hierarchy has the cpu
// controller. It has the greatest weight: while others have the probe's CPU, the
// quota may run out on another one, and the account is of all.
func quota(spec *childSpec) (undo func() error, err error) {
	name := fmt.Sprintf("otelgc-causes-%d", os.Getpid())
	for _, h := range []struct{ mount, weightFile, weight, file, quota string }{
		{"/sys/fs/cgroup/cpu", "cpu.shares", "262144", "cpu.cfs_quota_us", "20000"},
		{"/sys/fs/cgroup/cpu,cpuacct", "cpu.shares", "262144", "cpu.cfs_quota_us", "20000"},
		{"/sys/fs/cgroup", "cpu.weight", "10000", "cpu.max", "20000 100000"},
	} {
		dir := filepath.Join(h.mount, name)
		mkErr := os.Mkdir(dir, 0o755)
		if mkErr == nil {
			mkErr = errors.Join(
				os.WriteFile(filepath.Join(dir, h.weightFile), []byte(h.weight), 0o644),
				os.WriteFile(filepath.Join(dir, h.file), []byte(h.quota), 0o644))
			if mkErr == nil {
				spec.Join = dir
				return func() error { return os.Remove(dir) }, nil
			}
			mkErr = errors.Join(mkErr, os.Remove(dir))
		}
		err = errors.Join(err, mkErr)
	}
	return nil, fmt.Errorf("make a cgroup with a quota: %w", err)
}

// pollEvery is the time between two looks at cpu.stat. A look that is later than
// pollLate does not know when the throttling ended.
const (
	pollEvery = time.Millisecond
	pollLate  = 4 * time.Millisecond
)

// watchQuota looks at the cgroup's own account: the count rises when a
// throttling begins, the time when it ends.
func watchQuota(ctx context.Context, e *experiment, p *process, in *injection) error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	file := filepath.Join(p.cgroup, "cpu.stat")
	count, spent, err := throttled(file)
	if err != nil {
		return err
	}
	begun, last := stall.Instant(0), clock.Now()
	for end := time.Now().Add(e.span); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(pollEvery) {
		n, t, err := throttled(file)
		if err != nil {
			return err
		}
		now := clock.Now()
		if n != count && begun == 0 {
			begun = now.Add(-2 * pollEvery)
		}
		if t != spent && begun != 0 {
			// The time that was added says when it began, better than the look.
			begun = min(begun, now.Add(-time.Duration(t-spent)))
			if now.Sub(last) <= pollLate {
				in.truth = append(in.truth, stall.Span{Start: begun, End: now})
			}
			begun = 0
		}
		count, spent, last = n, t, now
	}
	return nil
}

// throttled reads how often a cgroup was throttled and for how many nanoseconds.
func throttled(file string) (count, nanos int64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, fmt.Errorf("read throttling: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "nr_throttled":
			count = n
		case "throttled_time":
			nanos = n
		case "throttled_usec":
			nanos = n * 1000
		}
	}
	return count, nanos, nil
}

// compete runs a hog on the probe's CPU; it says itself when it ran.
func compete(ctx context.Context, e *experiment, p *process, in *injection) error {
	return beside(ctx, e, in, childSpec{Work: "hog", CPU: p.hello.CPU})
}

// packets has the probe's CPU receive what another process sends to itself.
func packets(ctx context.Context, e *experiment, p *process, in *injection) error {
	err := beside(ctx, e, in, childSpec{Work: "packets", CPU: p.hello.CPU, Away: true})
	if err != nil && len(in.truth) == 0 {
		return missingRights{err}
	}
	return err
}

// beside runs a child that has no probe.
func beside(ctx context.Context, e *experiment, in *injection, spec childSpec) error {
	child, err := startChild(spec)
	if err != nil {
		return err
	}
	wait(ctx, e.span)
	last, err := child.end()
	in.truth = last.Truth
	return err
}

// Lengths of the stops, and the time between two.
var (
	stopFor   = []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond}
	stopEvery = 60 * time.Millisecond
)

// stopAndGo stops the child and has it go on. All of its threads are known to be
// stopped from when the kernel says so.
func stopAndGo(ctx context.Context, e *experiment, p *process, in *injection) error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	end := time.Now().Add(e.span)
	for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		s := stall.Span{Start: clock.Now()}
		wait(ctx, stopFor[i%len(stopFor)])
		s.End = clock.Now()
		if err := errors.Join(err, p.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
		in.truth = append(in.truth, s)
		wait(ctx, stopEvery)
	}
	return nil
}
