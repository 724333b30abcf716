package jitterprobe

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// compete runs a thread on cpu until the test ends, or until stop is called.
func compete(t *testing.T, cpu int) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := pinThread(cpu)
		for err == nil {
			select {
			case <-quit:
				done <- nil
				return
			default:
			}
		}
		done <- err
	}()
	return func() {
		close(quit)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// The kernel's own records of switches, read apart from the probe's: each lies
// in the gap that it made.
func TestGapContainsItsSwitch(t *testing.T) {
	needSpin(t)
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: the competitor would keep the test itself from running")
	}
	var gaps []Gap
	p := start(t, Options{Mode: Spin, Force: true}, func(g Gap) { gaps = append(gaps, g) })
	if l := p.Limits(); len(l) > 0 && l[0].Causes[0] == stall.HostFault {
		t.Skip(l[0])
	}
	ring, err := perf.OpenThread(p.loop.tid, 256)
	if err != nil {
		t.Skipf("needs perf_event_open: %v", err)
	}
	defer func() {
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	}()
	stop := compete(t, p.CPU())
	throttled := throttledSoFar(t)
	var switches []stall.Span
	var out stall.Instant
	var stopped []stall.Instant // a spinner that cannot run was stopped, or waits for a page
	read := func() {
		ring.Read(func(r *perf.Record) {
			switch {
			case r.Kind != perf.Switch:
			case r.Out && r.Preempted:
				out = r.At
			case r.Out:
				stopped = append(stopped, r.At)
			case out != 0:
				switches = append(switches, stall.Span{Start: out, End: r.At})
				out = 0
			}
		})
	}
	within(t, "100 preemptions", func() bool { read(); return len(switches) >= 100 })
	stop()
	p.Stop()
	budget := throttled()
	inside, called, others := 0, 0, 0
	i := 0
	for _, s := range switches {
		for i < len(gaps) && gaps[i].End.Add(gaps[i].Slack) < s.End {
			i++
		}
		if i == len(gaps) {
			break
		}
		g := &gaps[i]
		if g.Start.Add(-g.Slack) > s.Start {
			continue
		}
		inside++
		switch {
		case g.Cause == stall.HostPreempted && 10*g.Evidence.Time >= 9*s.Duration():
			called++
		case g.Cause == stall.HostThrottled && s.Duration() <= budget: // the kernel calls it a preemption, too
			budget -= s.Duration()
			others++
		case slices.ContainsFunc(stopped, func(at stall.Instant) bool { return g.Start.Add(-g.Slack) <= at && at < g.End }):
			others++
		}
	}
	t.Logf("%d of %d switches lie in a gap, %d of those gaps are called preempted by them, %d had another reason, too", inside, len(switches), called, others)
	if 100*inside < 99*len(switches) {
		t.Errorf("switches within a gap: got %d of %d, want 99 %%", inside, len(switches))
	}
	if 10*called < 9*(inside-others) {
		t.Errorf("gaps of switches: %d of %d are called preempted, want 90 %%", called, inside-others)
	}
}

// throttledSoFar returns a function that says for how long the cgroups of this
// process were throttled since, on all CPUs together, as the kernel counts.
func throttledSoFar(t *testing.T) func() time.Duration {
	t.Helper()
	host := os.DirFS("/")
	groups, err := cgroup.Of(host, "self")
	if err != nil {
		return func() time.Duration { return 0 } // nor does the probe know any
	}
	w := cgroup.NewWatch(host, groups)
	before := w.Read(nil)
	return func() (sum time.Duration) {
		for i, now := range w.Read(nil) {
			sum += now.Time - before[i].Time
		}
		return sum
	}
}
