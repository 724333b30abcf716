package recording

import (
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Host is what the machine did to the threads of a process since somebody
// watched. How the times are told apart is in package hostwatch.
type Host struct {
	PID int `json:"pid"`
	// Followed says that every switch of the threads was followed. Else what
	// follows is counted, and nothing is covered.
	Followed    bool          `json:"followed"`
	At          stall.Instant `json:"at,omitempty"`
	RunDelay    time.Duration `json:"run_delay"` // summed over the threads
	Denied      time.Duration `json:"denied"`    // a thread was ready, and none ran
	Paged       time.Duration `json:"paged"`     // one waited for a page, and none ran or was ready
	Undecided   time.Duration `json:"undecided"` // one was ready while others ran
	Covered     time.Duration `json:"covered"`   // denied, paged, or left alone
	MajorFaults uint64        `json:"major_faults"`
	// Throttled is of its cgroups, summed over CPUs, where they could be seen.
	Throttled gc.Maybe[time.Duration] `json:"throttled,omitzero"`
	Stolen    time.Duration           `json:"stolen"` // of all CPUs
	// How long somebody waited: on the machine, for a CPU, for memory and for
	// disks; and in the process's own cgroup where cgroup v2 tells of it.
	Pressure       time.Duration                `json:"pressure"`
	PressureMemory time.Duration                `json:"pressure_memory"`
	PressureIO     time.Duration                `json:"pressure_io"`
	CgroupPressure gc.Maybe[hostcount.Pressure] `json:"cgroup_pressure,omitzero"`
	Dropped        uint64                       `json:"dropped"` // events of the scheduler
}

func (Host) kind() Kind { return KindHost }
