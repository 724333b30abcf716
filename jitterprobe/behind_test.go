package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func TestBehindAGap(t *testing.T) {
	const us = time.Microsecond
	at := stall.Instant(time.Hour)
	next := func(after, length time.Duration, c stall.Cause, w Witness) Gap {
		g := Gap{Interval: stall.Interval{Start: at.Add(after), Cause: c, Scope: stall.ScopeCPU}, Evidence: Evidence{Witness: w}}
		g.End = g.Start.Add(length)
		at = g.End
		return g
	}
	steal := func(after, length time.Duration) Gap { return next(after, length, stall.HostSteal, Silence) }
	preempted := func() Gap { return next(us, 40*us, stall.HostPreempted, SwitchRecord) }
	throttled := next(us, 50*us, stall.HostThrottled, CgroupStat)
	throttled.Scope, throttled.Owner = stall.ScopeCgroup, stall.Owner{Cgroup: 7}
	var b behind
	for _, test := range []struct {
		name  string
		gaps  []Gap
		cause stall.Cause // of the last
		owner stall.Owner
	}{
		{"a quota's", []Gap{throttled, steal(0, 2*us)}, stall.HostThrottled, stall.Owner{Cgroup: 7}},
		{"a preemption's", []Gap{preempted(), steal(0, 2*us)}, stall.HostPreempted, stall.Owner{}},
		{"of the one behind it, too", []Gap{steal(0, 2*us)}, stall.HostPreempted, stall.Owner{}},
		{"after a look", []Gap{preempted(), steal(10, 2*us)}, stall.HostSteal, stall.Owner{}},
		{"for long", []Gap{preempted(), steal(0, coldFor+1)}, stall.HostSteal, stall.Owner{}},
		{"behind an interrupt", []Gap{next(us, 9*us, stall.HostIRQ, Tracepoint), steal(0, 2*us)}, stall.HostSteal, stall.Owner{}},
		{"without the rights to see interrupts", []Gap{preempted(), next(0, 2*us, stall.HostIRQOrSteal, Remainder)}, stall.HostPreempted, stall.Owner{}},
		{"with a cause of its own", []Gap{preempted(), next(0, 2*us, stall.HostFault, FaultRecord)}, stall.HostFault, stall.Owner{}},
	} {
		b.settle(test.gaps)
		g := test.gaps[len(test.gaps)-1]
		if g.Cause != test.cause || g.Owner != test.owner {
			t.Errorf("%s: got %v of %v, %q; want %v of %v", test.name, g.Cause, g.Owner, g.Evidence, test.cause, test.owner)
		}
	}
}

// With a threshold below what a look takes, no look lies between two gaps.
func TestCachesAreColdForAWhile(t *testing.T) {
	const us = time.Microsecond
	at := stall.Instant(time.Hour)
	gaps := []Gap{{Interval: stall.Interval{Start: at, End: at.Add(40 * us), Cause: stall.HostPreempted}, Evidence: Evidence{Witness: SwitchRecord}}}
	for range 100 {
		at = gaps[len(gaps)-1].End
		gaps = append(gaps, Gap{Interval: stall.Interval{Start: at, End: at.Add(us), Cause: stall.HostIRQOrSteal}, Evidence: Evidence{Witness: Remainder}})
	}
	var b behind
	b.settle(gaps[:3]) // and on in the next batch
	b.settle(gaps[3:])
	cold := 0
	for _, g := range gaps {
		if g.Evidence.Witness == ColdCache {
			cold++
		}
	}
	if want := int(coldFor / us); cold != want || gaps[want].Cause != stall.HostPreempted || gaps[want+1].Cause != stall.HostIRQOrSteal {
		t.Errorf("of 100 gaps of 1 µs behind a preemption %d are its, want the first %d", cold, want)
	}
}
