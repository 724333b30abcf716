package jitterprobe

import "github.com/otelgc/otelgc/stall"

// Gap is one stretch of time in which the probe could not run.
//
// Its interval begins with the last look before the gap and ends with the first one
// after; with Periodic it begins when the probe wanted to wake. Slack bounds its error
// against CLOCK_MONOTONIC. The cause is one of the machine, or RuntimeUnknown:
// HostUnknown if no evidence decides, HostIRQOrSteal if it is either of the two. The
// scope is ScopeCPU; ScopeCgroup if the cgroup that Owner names was throttled;
// ScopeProcess if only this process was stopped, or its runtime; ScopeMachine if the
// machine slept. CPU is that of the probe, -1 if it is not pinned.
type Gap struct {
	stall.Interval
	// Evidence decided the cause.
	Evidence Evidence
	// Runtime says that the gap lies across the way out of the Go runtime or back
	// into it, and is not the machine's by its records: the world was stopped, or
	// there was no P for the probe.
	Runtime bool
}
