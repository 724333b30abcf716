package jitterprobe

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// A probe with real-time priority that shares its CPU loses it for a twentieth of
// each second: to the server for fair threads since Linux 6.12, to the limit on
// real-time threads before.
func TestRealtimeLimitOfTheKernel(t *testing.T) {
	needSpin(t)
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: a thread with real-time priority would keep the test itself from running")
	}
	if r := newRealtime("/", 1); r.rest < realtimeFrom {
		t.Skipf("of each %v others get %v: no limit to be seen", r.period, r.rest)
	}
	limited := make(chan Gap, 1)
	p := start(t, Options{Mode: Spin, Force: true, OnGap: func(g Gap) {
		if g.Evidence.Witness == RealtimeLimit {
			select {
			case limited <- g:
			default:
			}
		}
	}})
	tid := p.engine.thread()
	err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("real-time priority takes CAP_SYS_NICE, and a cgroup with a share of it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !kernel.Realtime(tid) {
		t.Error("the thread has real-time priority, and is not known to")
	}
	stop := compete(t, p.CPU())
	within(t, "a gap of the limit", func() bool { return len(limited) > 0 })
	p.Stop() // gives the CPU to the competitor, which then can stop
	stop()
	if g := <-limited; g.Cause != stall.HostThrottled || g.Scope != stall.ScopeCPU {
		t.Errorf("got %v of scope %v, %q", g.Cause, g.Scope, g.Evidence)
	}
}
