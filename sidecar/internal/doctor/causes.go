package doctor

import (
	"slices"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Cause says of one cause of gaps whether it can be told from the others with
// the rights at hand.
type Cause struct {
	Cause     string `json:"cause"`
	Decidable bool   `json:"decidable"`
	How       string `json:"how,omitempty"`   // the evidence
	Needs     string `json:"needs,omitempty"` // what to do for it, or for more of it; why it cannot be, where nothing helps
}

// judgeCauses says of each cause what the probe says: it knows what it could
// open, and what it can do without.
func (r *Report) judgeCauses(m *machine) {
	followed, traced := m.limit(stall.HostFault) == nil, m.limit(stall.HostIRQ) == nil && m.limit(stall.HostSteal) == nil
	preempted, more := "run_delay of the probe's thread, not by whom", m.mend(stall.HostFault)
	switch {
	case followed && traced:
		preempted, more = "context switches of the CPU, by whom", ""
	case followed:
		preempted, more = "context switches of the probe's thread, not by whom", m.mend(stall.HostSteal)
	}
	either, stopped := "no context switch and no fault in the gap", "CLOCK_BOOTTIME against CLOCK_MONOTONIC, stops of the probe's thread"
	if !followed {
		either, stopped = "no context switch and no fault meanwhile, by their counts", "CLOCK_BOOTTIME against CLOCK_MONOTONIC"
	}
	r.judgeCause(m, stall.HostThrottled, "cpu.stat of the cgroup and its ancestors", "")
	r.judgeCause(m, stall.HostPreempted, preempted, more)
	r.judgeCause(m, stall.HostIRQ, "interrupts of the CPU", "")
	r.judgeCause(m, stall.HostSteal, "no event of the kernel in the gap, none lost", "")
	if !traced { // else the two are told apart
		r.judgeCause(m, stall.HostIRQOrSteal, either, "")
	}
	r.judgeCause(m, stall.HostFault, "faults of the probe's thread", "")
	r.judgeCause(m, stall.HostSuspended, stopped, "")
}

// judgeCause adds c; more is what would tell more of it where it is decidable.
func (r *Report) judgeCause(m *machine, c stall.Cause, how, more string) {
	if m.limit(c) != nil {
		r.Causes = append(r.Causes, Cause{Cause: c.String(), Needs: m.mend(c)})
		return
	}
	r.Decidable = append(r.Decidable, c.String())
	r.Causes = append(r.Causes, Cause{c.String(), true, how, more})
}

// limit returns what keeps the probe from deciding c, or nil.
func (m *machine) limit(c stall.Cause) *jitterprobe.Limit {
	for i := range m.limits {
		if slices.Contains(m.limits[i].Causes, c) {
			return &m.limits[i]
		}
	}
	return nil
}

// mend returns what would let the probe decide c, else why it cannot, empty if
// it can.
func (m *machine) mend(c stall.Cause) string {
	switch l := m.limit(c); {
	case l == nil:
		return ""
	case l.Mend != "":
		return l.Mend
	default:
		return l.Why
	}
}

// allCauses are those that a probe can give to a gap of the machine.
var allCauses = []stall.Cause{
	stall.HostThrottled, stall.HostPreempted, stall.HostIRQ, stall.HostSteal, stall.HostIRQOrSteal, stall.HostFault, stall.HostSuspended,
}

// learn takes what a probe says that it cannot decide.
func (m *machine) learn(limits []jitterprobe.Limit) { m.limits, m.asked = limits, true }

// noProbe is what a probe cannot decide that cannot run.
func noProbe(err error) []jitterprobe.Limit {
	return []jitterprobe.Limit{{Causes: allCauses, Why: "the probe cannot run: " + err.Error()}}
}

// askProbe runs a probe for its limits, if none has said them.
func (m *machine) askProbe(o Options) {
	if m.asked {
		return
	}
	limits, err := m.live.limits(jitterprobe.Options{Mode: o.Mode, CPU: o.CPU, Interrupts: true})
	if err != nil {
		limits = noProbe(err)
	}
	m.learn(limits)
}
