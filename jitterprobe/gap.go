package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Gap is one stretch of time in which the probe could not run.
type Gap struct {
	// Start is the last look before the gap, End the first one after. With
	// Periodic, Start is when the probe wanted to wake.
	Start, End stall.Instant
	// Slack bounds the error of Start and End against CLOCK_MONOTONIC.
	Slack time.Duration
	// Cause is one of the machine, or RuntimeUnknown. HostUnknown is one that no
	// evidence decides, HostIRQOrSteal one that is either of the two.
	Cause stall.Cause
	// Evidence decided the cause.
	Evidence Evidence
	// Source is that of the probe's mode.
	Source stall.Origin
	// Scope is ScopeCPU; ScopeCgroup if a cgroup was throttled; ScopeProcess if
	// only this process was stopped, or its runtime; ScopeMachine if the machine
	// slept.
	Scope stall.Scope
	// CPU is the logical number of the probe's CPU, -1 if it is not pinned.
	CPU int32
	// Owner names the throttled cgroup.
	Owner stall.Owner
	// Runtime says that the gap lies across the way out of the Go runtime or back
	// into it, and is not the machine's by its records: the world was stopped, or
	// there was no P for the probe.
	Runtime bool
}

// Duration returns the length of g.
func (g Gap) Duration() time.Duration { return g.End.Sub(g.Start) }

// Interval returns g in the form that the join takes.
func (g Gap) Interval() stall.Interval {
	return stall.Interval{
		Start: g.Start, End: g.End, Slack: g.Slack,
		Cause: g.Cause, Origin: g.Source, Scope: g.Scope, CPU: g.CPU, Owner: g.Owner,
	}
}
