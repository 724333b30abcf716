package jitterprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// The thread that wakes up may not be woken late to save power: by default the
// kernel puts a wake-up off by up to 50 us to have it with another.
func TestPeriodicHasNoTimerSlack(t *testing.T) {
	p := start(t, Options{Mode: Periodic})
	tid := p.loop.tid
	if tid == 0 {
		t.Skip("no precise sleep in this build")
	}
	slack := func(tid int) (string, error) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid))
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			t.Skipf("the slack of another thread takes CAP_SYS_NICE: %v", err)
		}
		return strings.TrimSpace(string(text)), err
	}
	within(t, "a slack of 1 ns", func() bool { // it is set by the thread, which has just begun
		text, err := slack(tid)
		if err != nil {
			t.Fatal(err)
		}
		return text == "1"
	})
	if own, err := slack(os.Getpid()); err != nil || own == "1" {
		t.Errorf("the rest of the process: slack %q, %v; want what it had", own, err)
	}
}

// What the probe sets on its thread must not be what the process shows of itself,
// nor outlive the probe: the first thread of a process does not end.
func TestFirstThreadIsNotTheProbes(t *testing.T) {
	for range 50 {
		p := start(t, Options{Mode: Periodic})
		if p.loop.tid == os.Getpid() {
			t.Fatal("the probe runs on the first thread of the process")
		}
		p.Stop()
	}
}

// busy keeps every P from whoever else wants one, until stop is called.
func busy() (stop func()) {
	quit := make(chan struct{})
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			for over := false; !over; {
				select {
				case <-quit:
					over = true
				default:
				}
			}
		}()
	}
	return func() { close(quit) }
}

// A wake-up is late in two parts: until the machine has woken the thread, and
// until the runtime has a P for it. With all Ps busy the second part is long.
func TestPeriodicSplitsTheMachineFromTheRuntime(t *testing.T) {
	needSpin(t)
	var last Gap
	split, own := 0, 0
	p := start(t, Options{Mode: Periodic, Threshold: time.Microsecond}, func(g Gap) {
		switch {
		case g.Runtime:
			own++
			if g.Cause != stall.RuntimeUnknown || g.Scope != stall.ScopeProcess || g.Evidence.Witness != RuntimeDoor {
				t.Errorf("the runtime's part: %v, %v, %q", g.Cause, g.Scope, g.Evidence)
			}
			if last.End == g.Start && !last.Runtime {
				split++ // the machine's part of the same wake-up
			}
		case !g.Cause.IsHost():
			t.Errorf("the machine's part: %v", g.Cause)
		}
		last = g
	})
	defer busy()()
	within(t, "a wait for a P of a millisecond", func() bool { return p.Snapshot().Causes[stall.RuntimeUnknown].Time >= time.Millisecond })
	p.Stop()
	if split == 0 {
		t.Errorf("%d gaps of the runtime, none of which begins where the machine's part of the wake-up ends", own)
	}
}

// A gap of several periods is one gap, and in the histogram each deadline that it
// swallowed: so it is of a timer that is late for all of them. The runtime's part
// is no lateness of a timer.
func TestPeriodicFillsTheHistogramAlone(t *testing.T) {
	needSpin(t)
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: the competitor would keep the test itself from running")
	}
	var want Histogram
	told := uint64(0)
	var filled atomic.Uint64
	p := start(t, Options{Mode: Periodic}, func(g Gap) {
		told++
		want.Add(g.Duration())
		for late := g.Duration() - period; late > 0 && !g.Runtime; late -= period {
			want.Add(late)
			filled.Add(1)
		}
	})
	stop := compete(t, p.CPU())
	within(t, "a gap longer than the period", func() bool { return filled.Load() >= 3 })
	stop()
	s := p.Stop()
	if s.Gaps != told {
		t.Errorf("gaps: counted %d, told %d", s.Gaps, told)
	}
	if s.Histogram != want {
		t.Errorf("histogram of %d gaps and %d deadlines: got %v, want %v", told, filled.Load(), s.Histogram, want)
	}
}
