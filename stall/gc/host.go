package gc

import "time"

// HostDuring says what the machine did to the process in the time of a
// collection or of a pause.
//
// MajorFaults, RunDelay, Throttled and Stolen are differences of counters that
// were read before and after, Over apart: what they count may have been outside,
// so they are "at most". CPUWait and PageWait are known to be inside, and share no
// time. Where who tells of the collection follows the scheduler itself, as
// otelgc-sidecar does, RunDelay is of that time alone, too; package otelgc only
// counts it.
type HostDuring struct {
	// MajorFaults are page faults that were served from disk.
	MajorFaults Maybe[uint64] `json:"major_faults,omitzero"`
	// RunDelay is how long threads were ready without a CPU, summed over them
	// (run_delay of schedstat; Documentation/scheduler/sched-stats.rst).
	RunDelay Maybe[time.Duration] `json:"run_delay,omitzero"`
	// Throttled is throttled_time of the process's cgroup and its ancestors,
	// summed over CPUs.
	Throttled Maybe[time.Duration] `json:"throttled,omitzero"`
	// Stolen is what the hypervisor admits to have taken of all CPUs of the
	// machine, in steps of 10 ms (proc_stat(5)).
	Stolen Maybe[time.Duration] `json:"stolen,omitzero"`
	// Over is the time between the readings of the counters.
	Over Maybe[time.Duration] `json:"over,omitzero"`
	// CPUWait is how long a thread of the process was ready to run and none ran:
	// it is inside for certain, and there may have been more. Zero is known only
	// where all the time was watched.
	CPUWait Maybe[time.Duration] `json:"cpu_wait,omitzero"`
	// PageWait is how long a thread waited for the disk, while pages came from
	// there, and no other thread ran or was ready; zero as for CPUWait.
	PageWait Maybe[time.Duration] `json:"page_wait,omitzero"`
}
