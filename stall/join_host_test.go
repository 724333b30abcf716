package stall

import "testing"

func TestWhichHostIntervalsApply(t *testing.T) {
	gap := func(scope Scope, owner Owner) Evidence {
		return with(seenAll(StateRunning), func(e *Evidence) {
			e.Host = []Interval{hostGap(HostPreempted, scope, owner, 1100, 1200)}
		})
	}
	charged := parts{"host.preempted": 100, "app_or_host": 900}
	coincident := parts{"coincident host.preempted": 100, "app_or_host": 1000}
	nowhere := func(w *Window) { w.Place = nil }
	runJoinCases(t, []joinCase{
		{name: "machine", e: gap(ScopeMachine, Owner{}), want: charged},
		{name: "machine, place not known", window: nowhere, e: gap(ScopeMachine, Owner{}), want: charged},
		{name: "own cgroup", e: gap(ScopeCgroup, Owner{Cgroup: 30}), want: charged},
		{name: "ancestor", e: gap(ScopeCgroup, Owner{Cgroup: 3}), want: charged},
		{name: "other cgroup", e: gap(ScopeCgroup, Owner{Cgroup: 31}), want: coincident},
		{name: "nobody's cgroup", window: func(w *Window) { w.Place.Cgroups[0] = 0 }, e: gap(ScopeCgroup, Owner{}), want: coincident},
		{name: "cgroup, place not known", window: nowhere, e: gap(ScopeCgroup, Owner{Cgroup: 30}), want: coincident},
		{name: "this process", e: gap(ScopeTarget, Owner{PID: 7, Created: 70}), want: charged},
		{name: "another with its PID", e: gap(ScopeTarget, Owner{PID: 7, Created: 71}), want: coincident},
		{name: "nobody's process", window: func(w *Window) { *w.Place = Place{} }, e: gap(ScopeTarget, Owner{}), want: coincident},
		{name: "one CPU", e: gap(ScopeCPU, Owner{PID: 7, Created: 70, Cgroup: 30}), want: coincident},
		{name: "a probe in the process", e: gap(ScopeProcess, Owner{PID: 7, Created: 70}), want: coincident},
		{name: "a scope that does not exist", e: gap(NumScopes, Owner{}), want: coincident},
		{
			name: "parked: it delayed nothing",
			e:    with(gap(ScopeMachine, Owner{}), func(e *Evidence) { e.Track[0].State = StateParked }),
			want: parts{"app": 1000},
		},
	})
}
