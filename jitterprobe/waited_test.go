package jitterprobe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

func preemptedOf(gaps []Gap) (list []bool) {
	for _, g := range gaps {
		list = append(list, g.Cause == stall.HostPreempted)
	}
	return list
}

func unknowns(lengths ...time.Duration) (gaps []Gap, refs []*Gap) {
	for _, d := range lengths {
		gaps = append(gaps, unknown(d))
	}
	for i := range gaps {
		refs = append(refs, &gaps[i])
	}
	return gaps, refs
}

// Sums convict only where nobody else can have done it. The gaps are sorted by
// length.
func TestWaitedSwitches(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, test := range []struct {
		name  string
		gaps  []time.Duration
		delay time.Duration
		n     int
		want  []bool
	}{
		{"one that is long enough", []time.Duration{4 * ms, 40 * us, 16 * us}, 3900 * us, 1, []bool{true, false, false}},
		{"two that are", []time.Duration{4 * ms, 3 * ms, 16 * us}, 3900 * us, 1, []bool{true, false, false}},
		{"either of two", []time.Duration{4 * ms, 3950 * us, 16 * us}, 3900 * us, 1, []bool{false, false, false}},
		{"two waits", []time.Duration{4 * ms, 3 * ms, 16 * us}, 6900 * us, 2, []bool{true, true, false}},
		{"a wait that could be in any", []time.Duration{40 * us, 30 * us, 16 * us}, 10 * us, 1, []bool{false, false, false}},
		{"all of them", []time.Duration{40 * us}, 10 * us, 1, []bool{true}},
		{"one that must be, one that may", []time.Duration{9 * ms, 40 * us, 30 * us}, 8 * ms, 2, []bool{true, false, false}},
		{"a wait of which the gap is not there", []time.Duration{40 * us}, 3 * ms, 1, []bool{false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			gaps, refs := unknowns(test.gaps...)
			w := waited{gaps: refs}
			w.switches(test.delay, test.n)
			if d := cmp.Diff(test.want, preemptedOf(gaps)); d != "" {
				t.Errorf("preempted (-want +got):\n%s", d)
			}
		})
	}
}

func TestWaitedWakeups(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, test := range []struct {
		name  string
		gaps  []time.Duration
		delay time.Duration // that other wake-ups cannot have had
		want  []bool
	}{
		{"waited", []time.Duration{4 * ms}, 3 * ms, []bool{true}},
		{"did not", []time.Duration{4 * ms}, 100 * us, []bool{false}},
		{"the other may have", []time.Duration{4 * ms, 3 * ms}, 3 * ms, []bool{false, false}},
		{"the long one must have", []time.Duration{9 * ms, ms}, 8 * ms, []bool{true, false}},
		{"both must have", []time.Duration{9 * ms, 8 * ms}, 16 * ms, []bool{true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			gaps, refs := unknowns(test.gaps...)
			w := waited{gaps: refs}
			w.wakeups(test.delay)
			if d := cmp.Diff(test.want, preemptedOf(gaps)); d != "" {
				t.Errorf("preempted (-want +got):\n%s", d)
			}
		})
	}
}

func TestWaitedTimers(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, test := range []struct {
		name  string
		gap   time.Duration
		delay time.Duration // of all wake-ups
		want  stall.Cause
	}{
		{"late", 5 * ms, 200 * us, stall.HostIRQOrSteal},
		{"may have waited", 5 * ms, 2 * ms, stall.HostUnknown},
		{"may have slept deep", 500 * us, 10 * us, stall.HostUnknown},
	} {
		gaps, refs := unknowns(test.gap)
		w := waited{gaps: refs}
		if w.timers(test.delay); gaps[0].Cause != test.want {
			t.Errorf("%s: got %v, want %v", test.name, gaps[0].Cause, test.want)
		}
	}
}

func TestWaitedOthers(t *testing.T) {
	gaps, refs := unknowns(time.Millisecond, 20*time.Microsecond)
	gaps[0].Cause = stall.HostThrottled
	w := waited{gaps: refs}
	w.others()
	if gaps[0].Cause != stall.HostThrottled || gaps[1].Cause != stall.HostIRQOrSteal || gaps[1].Evidence.Witness != Remainder {
		t.Errorf("got %v, %v (%v)", gaps[0].Cause, gaps[1].Cause, gaps[1].Evidence)
	}
}

// Sums say nothing of gaps that may not be theirs.
func TestWaitedOfAnotherBatch(t *testing.T) {
	still := sums{looked: true}
	moved := sums{looked: true, after: kernel.Waits{Delay: 30 * time.Microsecond, Turns: 1}}
	for _, test := range []struct {
		name      string
		last, now sums
		want      stall.Cause
	}{
		{"nothing happened", still, still, stall.HostIRQOrSteal},
		{"got its CPU while the gaps were collected", still, moved, stall.HostUnknown},
		{"or those before", moved, sums{looked: true, before: moved.after, after: moved.after}, stall.HostUnknown},
		{"has not looked since the first reading", still, sums{}, stall.HostUnknown},
		{"or had not", sums{}, still, stall.HostUnknown},
	} {
		gaps, _ := unknowns(40 * time.Microsecond)
		w := waited{last: test.last, now: test.now}
		w.sort(gaps)
		if w.spun(batch{}); gaps[0].Cause != test.want {
			t.Errorf("%s: got %v, %q, want %v", test.name, gaps[0].Cause, gaps[0].Evidence, test.want)
		}
	}
}

// A wait may be that of a gap across a door of the runtime.
func TestWaitedAtADoor(t *testing.T) {
	gaps, _ := unknowns(45*time.Microsecond, 40*time.Microsecond)
	gaps[0].Runtime, gaps[0].Cause = true, stall.RuntimeUnknown
	last := sums{looked: true}
	now := kernel.Waits{Delay: 30 * time.Microsecond, Turns: 1}
	w := waited{last: last, now: sums{looked: true, before: now, after: now}}
	w.sort(gaps)
	w.spun(batch{})
	if gaps[0].Cause != stall.RuntimeUnknown || gaps[1].Cause != stall.HostUnknown {
		t.Errorf("got %v and %v, want both as they were", gaps[0].Cause, gaps[1].Cause)
	}
}
