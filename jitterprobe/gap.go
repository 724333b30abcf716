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
	// Cause is HostUnknown, HostThrottled, or RuntimeUnknown if Runtime is set.
	Cause stall.Cause
	// Source is that of the probe's mode.
	Source stall.Source
	// Scope is ScopeCPU, ScopeCgroup if Cause is HostThrottled, ScopeProcess
	// if Runtime is set.
	Scope stall.Scope
	// CPU is the logical number of the probe's CPU, -1 if it is not pinned.
	CPU int32
	// Owner names the throttled cgroup.
	Owner stall.Owner
	// Runtime says that the gap lies across the return into the Go runtime: it
	// stopped the world, or had no P for the probe.
	Runtime bool
}

// Duration returns the length of g.
func (g Gap) Duration() time.Duration { return g.End.Sub(g.Start) }

// Interval returns g in the form that the join takes.
func (g Gap) Interval() stall.Interval {
	return stall.Interval{
		Start: g.Start, End: g.End, Slack: g.Slack,
		Cause: g.Cause, Source: g.Source, Scope: g.Scope, CPU: g.CPU, Owner: g.Owner,
	}
}
