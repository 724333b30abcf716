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
	Needs     string `json:"needs,omitempty"` // what is missing, or would tell more
}

// judgeCauses holds the rights against what each cause needs as evidence. What
// the probe of the self-test itself cannot decide has the last word.
func (r *Report) judgeCauses(m *machine) {
	rights := m.rights()
	switches, events := rights.thread == nil, rights.tracefs != "" || rights.has(capSysAdmin)
	add := func(c stall.Cause, decidable bool, how, needs string) {
		if l := m.limit(c); l != nil {
			decidable, needs = false, l.Mend
			if needs == "" {
				needs = l.Why
			}
		}
		if decidable {
			r.Decidable = append(r.Decidable, c.String())
		} else {
			how = ""
		}
		r.Causes = append(r.Causes, Cause{c.String(), decidable, how, needs})
	}
	const (
		cgroups = "a cgroup with a quota, and its cpu.stat to be read"
		perf    = "perf_event_open: perf_event_paranoid of at most 2, or CAP_PERFMON"
		traces  = "CAP_PERFMON, and tracefs or CAP_SYS_ADMIN"
	)
	throttles := len(m.after.throttle) > 0
	add(stall.HostThrottled, throttles, "cpu.stat of the cgroup and its ancestors", unless(throttles, cgroups))
	switch {
	case !switches:
		add(stall.HostPreempted, true, "run_delay of the probe's thread, not by whom", perf+", for the switch itself")
	case rights.cpu != nil:
		add(stall.HostPreempted, true, "context switches of the probe's thread, not by whom", "CAP_PERFMON, to say by whom")
	default:
		add(stall.HostPreempted, true, "context switches of the CPU, by whom", "")
	}
	both := switches && rights.cpu == nil && events && m.limit(stall.HostSteal) == nil
	add(stall.HostIRQ, both, "interrupts of the CPU", unless(both, traces))
	add(stall.HostSteal, both, "no event of the kernel in the gap, none lost", unless(both, traces))
	if !both { // else the two are told apart
		add(stall.HostIRQOrSteal, switches, "no context switch and no fault in the gap", unless(switches, perf))
	}
	add(stall.HostFault, switches, "faults of the probe's thread", unless(switches, perf))
	add(stall.HostSuspended, true, "CLOCK_BOOTTIME against CLOCK_MONOTONIC", "")
}

// limit returns what keeps the probe of the self-test from deciding c, or nil.
func (m *machine) limit(c stall.Cause) *jitterprobe.Limit {
	for i := range m.limits {
		if slices.Contains(m.limits[i].Causes, c) {
			return &m.limits[i]
		}
	}
	return nil
}

func unless(ok bool, needs string) string {
	if ok {
		return ""
	}
	return needs
}
