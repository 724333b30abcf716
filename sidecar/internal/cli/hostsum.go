package cli

import (
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// hostFacts are what the log says of v at the end, in the words of the report:
// target_host of run --json has all of it. How long threads were held up that were
// not followed, nobody knows.
func hostFacts(v recording.Host) []any {
	facts := []any{"pid", v.PID}
	if v.Followed {
		facts = append(facts, "held_up", textfmt.Length(v.Denied), "paging", textfmt.Length(v.Paged), "not_decided", textfmt.Length(v.Undecided))
	} else {
		facts = append(facts, "followed", false, "run_delay_of_all_threads", textfmt.Length(v.RunDelay))
	}
	if d := v.Throttled.Or(0); d > 0 {
		facts = append(facts, "throttled", textfmt.Length(d))
	}
	if v.Stolen > 0 {
		facts = append(facts, "stolen_from_all_cpus", textfmt.Length(v.Stolen))
	}
	if v.MajorFaults > 0 {
		facts = append(facts, "major_faults", v.MajorFaults)
	}
	if v.Dropped > 0 {
		facts = append(facts, "switches_dropped", v.Dropped)
	}
	return facts
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
