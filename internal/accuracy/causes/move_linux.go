package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// moveEvery is the time between two moves of the probe's thread.
const moveEvery = 10 * time.Millisecond

// move has the probe's thread go to another CPU, and back after a while. What it
// waits for on the way there is the truth, if it got that CPU before it had to go
// back.
func move(ctx context.Context, e *experiment, p *process, in *injection) error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	tid, err := probeThread(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	away := 0
	if p.hello.CPU == 0 {
		away = 1
	}
	for end := time.Now().Add(e.span); time.Now().Before(end) && ctx.Err() == nil; wait(ctx, moveEvery) {
		before, err := turns(tid)
		s := stall.Span{Start: clock.Now()}
		if err := pinThread(tid, away); err != nil {
			return missingRights{err}
		}
		s.End = clock.Now()
		wait(ctx, moveEvery)
		after, err2 := turns(tid)
		if err := errors.Join(err, err2, pinThread(tid, p.hello.CPU)); err != nil {
			return err
		}
		if after > before {
			in.truth = append(in.truth, s)
		}
	}
	return nil
}

// turns returns how often a thread has got a CPU (the third field of schedstat,
// Documentation/scheduler/sched-stats.rst).
func turns(tid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err != nil {
		return 0, fmt.Errorf("read turns: %w", err)
	}
	f := strings.Fields(string(text))
	if len(f) != 3 {
		return 0, fmt.Errorf("parse schedstat: %q", text)
	}
	return strconv.ParseUint(f[2], 10, 64)
}

func pinThread(tid, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("pin thread %d to CPU %d: %w", tid, cpu, err)
	}
	return nil
}

// probeThread returns the thread of a process on which a probe spins: it has a
// name.
func probeThread(pid int) (int, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "otelgc-probe") {
			return strconv.Atoi(filepath.Base(filepath.Dir(name)))
		}
	}
	return 0, fmt.Errorf("find the probe's thread: none has its name")
}
