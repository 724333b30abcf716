package hostcount

import (
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// Totals are what the machine did to the threads of a process since a watch began. Package
// hostwatch describes how it separates the times.
type Totals struct {
	// RunDelay is how long the threads were ready and did not run, summed over
	// them: run_delay of /proc/PID/task/TID/schedstat, or the same from the
	// scheduler.
	RunDelay    time.Duration `json:"run_delay"`
	Denied      time.Duration `json:"denied"`       // a thread was ready, and none ran
	Paged       time.Duration `json:"paged"`        // one waited for a page, and none ran or was ready
	Mixed       time.Duration `json:"undecided"`    // one was ready while others ran
	Covered     time.Duration `json:"covered"`      // denied, paged, or left alone
	MajorFaults uint64        `json:"major_faults"` // were served from disk
	// Throttled is throttled_time of the process's cgroup and its ancestors,
	// summed over CPUs, where they can be seen from here.
	Throttled gc.Maybe[time.Duration] `json:"throttled,omitzero"`
	// Stolen is what the hypervisor admits to have taken of all CPUs, in
	// steps of 10 ms.
	Stolen time.Duration `json:"stolen"`
	MachinePressure
	// GroupPressure is that of the process's own cgroup, where cgroup v2 has it.
	GroupPressure gc.Maybe[Pressure] `json:"cgroup_pressure,omitzero"`
	Dropped       uint64             `json:"dropped"` // events of the scheduler that were not seen
	Events        uint64             `json:"-"`       // that were
	Threads       int                `json:"-"`       // there are now
}

// MachinePressure is the [Pressure] of the machine, with names of its own in JSON.
type MachinePressure struct {
	CPU    time.Duration `json:"pressure"`
	Memory time.Duration `json:"pressure_memory"`
	IO     time.Duration `json:"pressure_io"`
}

// Times returns all lengths of time that are always known.
func (t *Totals) Times() []*time.Duration {
	return []*time.Duration{&t.RunDelay, &t.Denied, &t.Paged, &t.Mixed, &t.Covered, &t.Stolen, &t.CPU, &t.Memory, &t.IO}
}

// Since returns what was added to q up to t.
func (t Totals) Since(q Totals) Totals {
	before := q.Times()
	for i, d := range t.Times() {
		*d = max(0, *d-*before[i])
	}
	t.MajorFaults -= min(q.MajorFaults, t.MajorFaults)
	t.Dropped -= min(q.Dropped, t.Dropped)
	t.Throttled = Since(t.Throttled, q.Throttled)
	if p, known := t.GroupPressure.Get(); known {
		t.GroupPressure = gc.Known(p.Since(q.GroupPressure.Or(Pressure{})))
	}
	return t
}
