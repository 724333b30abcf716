package verb

import (
	"fmt"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
)

// hostFacts are what the log says of v at the end. What threads were denied that
// were not followed, nobody knows.
func hostFacts(v recording.Host) []any {
	facts := []any{"pid", v.PID, "followed", v.Followed, "run_delay", v.RunDelay.String()}
	if v.Followed {
		facts = append(facts, "denied", v.Denied.String(), "paged", v.Paged.String(),
			"undecided", v.Undecided.String(), "covered", v.Covered.String(), "dropped", v.Dropped)
	}
	machine := hostcount.Pressure{CPU: v.Pressure, Memory: v.PressureMemory, IO: v.PressureIO}
	facts = append(facts, "major_faults", v.MajorFaults, "stolen", v.Stolen.String(), "machine_waited", sayPressure(machine))
	if d, known := v.Throttled.Get(); known {
		facts = append(facts, "throttled", d.String())
	}
	if p, known := v.CgroupPressure.Get(); known {
		facts = append(facts, "cgroup_waited", sayPressure(p))
	}
	return facts
}

// sayPressure says a pressure in one line.
func sayPressure(p hostcount.Pressure) string {
	return fmt.Sprintf("for a CPU %v, for memory %v, for disks %v", p.CPU, p.Memory, p.IO)
}

// document returns what was seen up to the end, nil for no target.
func (h *hostSide) document() *recording.Host {
	if h == nil {
		return nil
	}
	v := h.seen()
	v.At = 0 // the end of the run
	return &v
}

// seen returns what the machine did to the target so far.
func (h *hostSide) seen() recording.Host {
	followed, _ := h.process.Exact()
	t := &h.totals
	return recording.Host{
		PID: int(h.process.Owner().PID), Followed: followed, At: h.at,
		RunDelay: t.RunDelay, Denied: t.Denied, Paged: t.Paged, Undecided: t.Mixed, Covered: t.Covered,
		Throttled: t.Throttled, MajorFaults: t.MajorFaults, Stolen: t.Stolen,
		Pressure: t.Pressure.CPU, PressureMemory: t.Pressure.Memory, PressureIO: t.Pressure.IO, CgroupPressure: t.GroupPressure,
		Dropped: t.Dropped,
	}
}
