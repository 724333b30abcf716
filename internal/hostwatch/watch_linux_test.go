package hostwatch

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// TestRunDelayEqualsTheKernels lets two threads share a CPU. The sum of what
// they waited must be what the kernel counts.
func TestRunDelayEqualsTheKernels(t *testing.T) {
	pid := child(t, "spin2", lastCPU(t))
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel counts a wait when it is over, the watch while it goes on.
	type reading struct{ ours, kernels time.Duration }
	var readings []reading
	var w *Watch
	ready := make(chan struct{})
	l := &log{each: func(b *Batch) {
		<-ready
		now, err := p.Read(w.o.Clock.Now, 100)
		if err != nil {
			t.Error(err)
		}
		if now.End.Sub(b.Span.End) > 5*holdBack {
			return // it was held up between the two, and the kernel counted on
		}
		r := reading{b.Totals.RunDelay, now.RunDelay.Or(0)}
		for _, thread := range w.timeline.threads {
			if thread.state == unknown {
				return // it may have waited since before the watch began
			}
			r.ours -= thread.waited()
		}
		readings = append(readings, r)
	}}
	w = start(t, Options{PID: pid}, l)
	close(ready)
	l.await(t, 3*time.Second)
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(readings) < 6 {
		t.Skipf("%d readings: the machine is so busy that threads do not run for seconds", len(readings))
	}
	first, last := readings[len(readings)/4], readings[len(readings)-1]
	ours, kernels := last.ours-first.ours, last.kernels-first.kernels
	t.Logf("%d readings: ours %v, the kernel's %v", len(readings), ours, kernels)
	if kernels < 500*time.Millisecond {
		t.Fatalf("the threads waited %v only", kernels)
	}
	if off := math.Abs(float64(ours)/float64(kernels) - 1); off > 0.05 {
		t.Errorf("run delay: got %v, want %v within 5 %%", ours, kernels)
	}
}

// TestDenied lets a stranger share the CPU of a thread. Where these tests have a
// quota, it is throttled, too.
func TestDenied(t *testing.T) {
	cpu := lastCPU(t)
	pid := child(t, "spin1", cpu)
	child(t, "spin1", cpu)
	l := &log{}
	w := start(t, Options{PID: pid}, l)
	before, _ := schedstat(t, pid)
	l.await(t, 2*time.Second)
	ran, _ := schedstat(t, pid)
	ran -= before // within the time that is watched
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	total, end := w.Totals(), stall.Instant(0)
	cgroups, throttled := total.Throttled.Or(0), time.Duration(0)
	for _, b := range l.batches {
		if end != 0 && b.Span.Start != end {
			t.Errorf("a batch begins at %d, the last one ended at %d", b.Span.Start, end)
		}
		end = b.Span.End
		for _, v := range b.Denied {
			if v.Cause == stall.HostThrottled {
				throttled += v.Duration()
			} else if v.Cause != stall.HostPreempted {
				t.Fatalf("interval %+v", v)
			}
			if v.Scope != stall.ScopeTarget || v.Owner != w.Owner() || v.Owner.PID != int32(pid) {
				t.Fatalf("interval %+v", v)
			}
			if v.Start < b.Span.Start || v.End > b.Span.End || v.End <= v.Start {
				t.Fatalf("interval %+v in batch %v", v, b.Span)
			}
		}
	}
	span := end.Sub(l.batches[0].Span.Start)
	t.Logf("%v: denied %v, mixed %v, covered %v, %d events, %d dropped", span, total.Denied, total.Mixed, total.Covered, total.Events, total.Dropped)
	if total.Denied < span/5 || total.Denied > span-ran+10*holdBack {
		t.Errorf("denied %v of %v, want about a half or more, and no more than it did not run for: it ran for %v", total.Denied, span, ran)
	}
	if throttleShare*float64(throttled) > float64(cgroups) {
		t.Errorf("throttled %v, and the cgroup says %v", throttled, cgroups)
	}
	pause := l.batches[len(l.batches)/2].Span
	if d, ok := w.During(pause).RunDelay.Get(); !ok || d <= 0 || d > 10*pause.Duration() {
		t.Errorf("run delay during %v: got %v, known: %v", pause.Duration(), d, ok)
	}
}

// schedstat returns for how long the threads of a process ran and waited for a CPU
// so far, as the kernel counts.
func schedstat(t *testing.T, pid int) (ran, waited time.Duration) {
	t.Helper()
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Threads(1000, func(tid string) {
		if r, w, err := p.Schedstat(tid); err == nil {
			ran, waited = ran+r, waited+w
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ran, waited
}

// TestLeftAlone: a process that sleeps is not denied a CPU, but for what it may have
// waited for one while it began.
func TestLeftAlone(t *testing.T) {
	l, pid := &log{}, child(t, "sleep", -1)
	w := start(t, Options{PID: pid}, l)
	l.await(t, time.Second)
	_, waited := schedstat(t, pid)
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	total := w.Totals()
	if total.Covered == 0 && total.Stolen == 0 && !l.late() {
		t.Errorf("nothing of a process that sleeps is covered: %+v", total)
	}
	if total.Denied > 100*time.Millisecond+waited {
		t.Errorf("a process that sleeps was denied %v, and waited %v for a CPU in all its life", total.Denied, waited)
	}
}

// TestThrottled gives a thread a twentieth of a CPU.
func TestThrottled(t *testing.T) {
	dir := makeQuota(t)
	pid := child(t, "spin1", lastCPU(t))
	enter(t, dir, pid)
	for _, counters := range []bool{false, true} {
		t.Run(fmt.Sprintf("counters only %t", counters), func(t *testing.T) {
			l := &log{}
			w := start(t, Options{PID: pid, CountersOnly: counters}, l)
			l.await(t, 2*time.Second)
			if err := w.Stop(); err != nil {
				t.Fatal(err)
			}
			var throttled, preempted time.Duration
			for _, b := range l.batches {
				for _, v := range b.Denied {
					if v.Cause == stall.HostThrottled {
						throttled += v.Duration()
					} else {
						preempted += v.Duration()
					}
				}
			}
			all, known := w.Totals().Throttled.Get()
			t.Logf("throttled %v, preempted %v; the cgroup says %v", throttled, preempted, all)
			if known && all < 300*time.Millisecond {
				t.Skipf("the cgroup throttled %v only: the machine is so busy that the child does not use up its quota", all)
			}
			want := all / 2
			if counters {
				// Of the machine's, of which this process may have fewer.
				want = all / time.Duration(2*max(1, w.online))
			}
			if throttled < want {
				t.Errorf("host.throttled: got %v, want at least %v", throttled, want)
			}
		})
	}
}

func TestNobody(t *testing.T) {
	for _, pid := range []int{-1, 0, 1<<22 + 1} {
		if _, err := Start(Options{PID: pid, OnBatch: func(*Batch) {}}); !errors.Is(err, ErrTarget) {
			t.Errorf("watch of %d: got error %v, want %v", pid, err, ErrTarget)
		}
	}
}

func TestTargetThatEnds(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=sleep")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := &log{}
	w := start(t, Options{PID: cmd.Process.Pid, CountersOnly: true}, l)
	l.await(t, 0)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	select {
	case <-w.Done():
	case <-time.After(3 * time.Minute):
		t.Fatal("the watch of a process that has ended goes on")
	}
	if err := w.Stop(); !errors.Is(err, ErrTarget) {
		t.Errorf("got error %v, want %v", err, ErrTarget)
	}
}
