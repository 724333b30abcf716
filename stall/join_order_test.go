package stall

import "testing"

func TestTheOrderOfClaims(t *testing.T) {
	own := Owner{PID: 7, Created: 70}
	throttled := hostGap(HostThrottled, ScopeTarget, own, 1000, 1100)
	stolen := hostGap(HostSteal, ScopeMachine, Owner{}, 1000, 1100)
	running := seenAll(StateRunning)
	meet := func(process []Interval, mine []Interval, host ...Interval) Evidence {
		e := running
		e.Process, e.Own, e.Host = process, mine, host
		return e
	}
	pause := []Interval{span(GCPause, 1000, 1100)}
	unknown := []Interval{span(RuntimeUnknown, 1000, 1100)}
	mine := func(causes ...Cause) (list []Interval) {
		for _, c := range causes {
			list = append(list, span(c, 1000, 1100))
		}
		return list
	}
	runJoinCases(t, []joinCase{
		{name: "pause before all", e: meet(pause, mine(GCAssist, GCPause, GCWait), throttled), want: parts{"gc.pause": 100, "during: host.throttled": 100, "app_or_host": 900}},
		{name: "assist, sweep, wait, sched", e: meet(unknown, mine(Sched, GCWait, GCSweep, GCAssist)), want: parts{"gc.assist": 100, "app_or_host": 900}},
		{name: "target before assist", e: meet(nil, mine(GCAssist), throttled), want: parts{"host.throttled": 100, "app_or_host": 900}},
		{name: "target before sweep", e: meet(nil, mine(GCSweep), throttled), want: parts{"host.throttled": 100, "app_or_host": 900}},
		{name: "target before sched", e: meet(nil, mine(SchedGC, Sched), throttled), want: parts{"host.throttled": 100, "app_or_host": 900}},
		{name: "wait before target", e: meet(nil, mine(GCWait), throttled), want: parts{"gc.wait": 100, "during: host.throttled": 100, "app_or_host": 900}},
		{name: "assist, wait and target: wait", e: meet(nil, mine(GCAssist, GCWait), throttled), want: parts{"gc.wait": 100, "during: host.throttled": 100, "app_or_host": 900}},
		{name: "machine after sched", e: meet(nil, mine(Sched), stolen), want: parts{"sched": 100, "during: host.steal": 100, "app_or_host": 900}},
		{name: "machine before the unknown stop", e: meet(unknown, nil, stolen), want: parts{"host.steal": 100, "app_or_host": 900}},
		{
			name: "target before machine, whatever the causes",
			e:    meet(nil, nil, hostGap(HostUnknown, ScopeTarget, own, 1000, 1100), stolen),
			want: parts{"host.unknown": 100, "during: host.steal": 100, "app_or_host": 900},
		},
		{
			name: "parked for credit: the machine delayed nothing",
			e:    with(seenAll(StateParked), func(e *Evidence) { e.Own, e.Host = mine(GCAssist), []Interval{throttled} }),
			want: parts{"gc.assist": 100, "during: host.throttled": 100, "app": 900},
		},
		{name: "each nanosecond once", e: meet([]Interval{span(GCPause, 1000, 1100), span(GCPause, 1050, 1200)}, []Interval{span(GCPause, 1000, 1200)}), want: parts{"gc.pause": 200, "app_or_host": 800}},
		{name: "a cause in a list where it does not belong", e: meet(mine(GCAssist), pause, span(Sched, 1000, 1100)), want: parts{"app_or_host": 1000}},
	})
}
