package hostwatch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestDenied lets a stranger share the CPU of a thread. Where these tests have a
// quota, it is throttled, too.
func TestDenied(t *testing.T) {
	cpu := lastCPU(t)
	pid := child(t, "spin1", cpu)
	child(t, "spin1", cpu)
	l := &log{}
	w := start(t, Options{PID: pid}, l)
	l.until(t, "time that is denied", func() bool {
		n := len(l.batches)
		return n > 0 && l.batches[n-1].Totals.Denied > 0
	})
	before := schedstat(t, pid)
	l.await(t, 2*time.Second)
	after := schedstat(t, pid)
	ran := after.ran - before.ran // within the time that is watched
	// Who is frozen or throttled does not wait, so this is by the kernel's count of
	// the thread that spins: by all of them more than one at a time may have waited.
	waited := after.longest - before.longest
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
	t.Logf("%v: denied %v, mixed %v, covered %v, waited %v, %d events, %d dropped", span, total.Denied, total.Mixed, total.Covered, waited, total.Events, total.Dropped)
	if total.Denied+total.Mixed < waited/2 {
		t.Errorf("denied %v, mixed %v, want most of what it waited: %v", total.Denied, total.Mixed, waited)
	}
	if total.Denied > span-ran+10*holdBack {
		t.Errorf("denied %v of %v, want no more than it did not run for: it ran for %v", total.Denied, span, ran)
	}
	if throttleShare*float64(throttled) > float64(cgroups) {
		t.Errorf("throttled %v, and the cgroup says %v", throttled, cgroups)
	}
	pause := slices.MaxFunc(l.batches, func(a, b Observations) int {
		return cmp.Compare(denied(&a), denied(&b)) // one in which it waited, not one in which it was frozen
	}).Span
	if d, ok := w.During(pause).RunDelay.Get(); !ok || d <= 0 || d > 10*pause.Duration() {
		t.Errorf("run delay during %v: got %v, known: %v", pause.Duration(), d, ok)
	}
}

// denied sums the time of a batch that the machine took.
func denied(b *Observations) (sum time.Duration) {
	for _, v := range b.Denied {
		sum += v.Duration()
	}
	return sum
}

// TestLeftAlone: a process that sleeps is not denied a CPU, but for what it may have
// waited for one while it began.
func TestLeftAlone(t *testing.T) {
	l, pid := &log{}, child(t, "sleep", -1)
	w := start(t, Options{PID: pid}, l)
	l.await(t, time.Second)
	l.awaitCovered(t, 0)
	waited := schedstat(t, pid).waited
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	total := w.Totals()
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
		if _, err := New(Options{PID: pid}); !errors.Is(err, ErrTarget) {
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
	case <-w.done:
	case <-time.After(3 * time.Minute):
		t.Fatal("the watch of a process that has ended goes on")
	}
	if err := w.Stop(); !errors.Is(err, ErrTarget) {
		t.Errorf("got error %v, want %v", err, ErrTarget)
	}
}
