package doctor

import "github.com/otelgc/otelgc/stall"

// Cause says of one cause of gaps whether it can be told from the others with
// the rights at hand.
type Cause struct {
	Cause     string `json:"cause"`
	Decidable bool   `json:"decidable"`
	How       string `json:"how,omitempty"`   // the evidence
	Needs     string `json:"needs,omitempty"` // what is missing, or would tell more
}

// judgeCauses holds the rights against what each cause needs as evidence.
func (r *Report) judgeCauses(m *machine) {
	rights := m.rights()
	kernel := rights.tracefs != "" || rights.mayTrace() // streams of what the kernel did
	add := func(c stall.Cause, decidable bool, how, needs string) {
		if decidable {
			r.Decidable = append(r.Decidable, c.String())
		} else {
			how = ""
		}
		r.Causes = append(r.Causes, Cause{c.String(), decidable, how, needs})
	}
	add(stall.HostThrottled, len(m.after.throttle) > 0, "cpu.stat of the cgroup and its ancestors", unless(len(m.after.throttle) > 0, "a cgroup with a quota, and its cpu.stat to be read"))
	switch {
	case rights.thread != nil:
		add(stall.HostPreempted, false, "", "perf_event_open: perf_event_paranoid of at most 2, or CAP_PERFMON")
	case rights.cpu != nil:
		add(stall.HostPreempted, true, "context switches of the probe's thread, not by whom", "CAP_PERFMON, to say by whom")
	default:
		add(stall.HostPreempted, true, "context switches of the CPU, by whom", "")
	}
	const events = "root with tracefs, or CAP_BPF and CAP_PERFMON"
	add(stall.HostIRQ, kernel, "interrupt events of the CPU", unless(kernel, events))
	both := kernel && rights.thread == nil
	add(stall.HostSteal, both, "no event of the kernel in the gap, none lost", unless(both, events))
	if !both { // else the two are told apart
		add(stall.HostIRQOrSteal, rights.thread == nil, "no context switch in the gap", unless(rights.thread == nil, "perf_event_open"))
	}
	add(stall.HostFault, true, "faults of the probe's thread", "")
	add(stall.HostSuspended, true, "CLOCK_BOOTTIME against CLOCK_MONOTONIC", "")
}

func unless(ok bool, needs string) string {
	if ok {
		return ""
	}
	return needs
}
