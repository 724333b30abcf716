package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// rightsChecks look at the rights that the probe needs to find causes.
var rightsChecks = []check{
	{"rights.perf", "proc/sys/kernel/perf_event_paranoid", perfRights},
	{"rights.bpf", "proc/self/status", bpfRights},
	{"rights.bpf.switch", "proc/sys/kernel/unprivileged_bpf_disabled", read(root.number, bpfSwitch)},
	{"rights.uprobe", "proc/self/status", uprobeRights},
	{"rights.tracefs", "sys/kernel/tracing/events", tracefsRights},
	{"rights.seccomp", "proc/self/status", seccomp},
}

// Capabilities by their number (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

// has reports whether this process has a capability. In a user namespace of its own,
// the capability may not help.
func (m *machine) has(capability uint) bool {
	text, _ := field(m.status, "CapEff")
	caps, _ := strconv.ParseUint(text, 16, 64) // what cannot be read is not there
	return caps&(1<<capability) != 0
}

// filtered reports whether seccomp filters the system calls of this process.
func (m *machine) filtered() bool {
	mode, _ := field(m.status, "Seccomp")
	return mode == "2"
}

func perfRights(m *machine, file string) Check {
	level := "perf_event_paranoid not readable"
	if n, err := m.number(file); err == nil {
		level = fmt.Sprintf("perf_event_paranoid %d", n)
	}
	if err := m.perfThread(); err != nil {
		return warn(level+", refused: "+why(err), "faults, interrupts and preempting threads are not recognised: set it to 2 or less, allow perf_event_open in seccomp, or add CAP_PERFMON")
	}
	if m.perfCPU(max(m.cpu, 0)) != nil {
		return info(level+", own threads", "the preempting thread is not known: add CAP_PERFMON")
	}
	return ok(level + ", whole CPUs")
}

// initialPIDs is the initial PID namespace (PROC_PID_INIT_INO,
// include/linux/proc_ns.h), whose ids the kernel has.
const initialPIDs = "pid:[4026531836]"

func bpfRights(m *machine, _ string) Check {
	const counted = "what a target's threads wait for is estimated from counters: "
	if err := m.loadBPF(); err != nil {
		named := m.has(capSysAdmin) || m.has(capBPF) && m.has(capPerfmon)
		hint := "add CAP_BPF and CAP_PERFMON"
		switch {
		case named && m.filtered():
			hint = "the capabilities are there: allow bpf in seccomp"
		case named:
			hint = "the capabilities are there, in a user namespace of their own perhaps: they must be of the host's"
		}
		return info("refused: "+why(err), counted+hint)
	}
	if pids, err := fs.ReadLink(m.FS, "proc/self/ns/pid"); err == nil && pids != initialPIDs {
		return info("CAP_BPF and CAP_PERFMON, in another PID namespace than the kernel's", counted+"share the host's PID namespace (hostPID: true)")
	}
	f, err := m.Open("sys/kernel/btf/vmlinux")
	if err != nil {
		return info("CAP_BPF and CAP_PERFMON, no BTF", counted+"boot a kernel with CONFIG_DEBUG_INFO_BTF")
	}
	_ = f.Close() // read only
	return ok("CAP_BPF and CAP_PERFMON, BTF")
}

// uprobeRights checks whether the stops and collections of Go programs can be seen from
// outside.
func uprobeRights(m *machine, _ string) Check {
	const unseen = "the stops and collections of Go programs are not seen from outside: "
	err := m.probeGo()
	switch {
	case err == nil:
		return ok("uprobe_multi, all threads")
	case errors.Is(err, fs.ErrPermission):
		return info("refused: "+why(err), unseen+"add CAP_BPF and CAP_PERFMON")
	}
	return info(why(err), unseen+"run a kernel of Linux 6.6.33, 6.9.4, 6.10 or later on amd64, or import otelgc")
}

// bpfSwitch checks which processes may load BPF programs
// (Documentation/admin-guide/sysctl/kernel.rst, unprivileged_bpf_disabled). Whatever its
// value, a process needs capabilities to follow the scheduler.
func bpfSwitch(_ *machine, n int64) Check {
	switch n {
	case 0:
		return info("0", "anybody may load BPF programs, but not follow the scheduler: that takes CAP_BPF and CAP_PERFMON all the same")
	case 1:
		return ok("1: CAP_BPF only, until the next boot")
	}
	return ok(fmt.Sprintf("%d: CAP_BPF only", n))
}

func tracefsRights(m *machine, _ string) Check {
	const lost = "interrupts look like the hypervisor, and the preempting thread is not known: "
	var refused error
	for _, dir := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		_, err := m.list(dir + "/events")
		if err == nil {
			return ok("/" + dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			refused = err
		}
	}
	switch {
	case refused != nil:
		return info(why(refused), lost+"give this user a right to read tracefs (mount option gid=), or add CAP_DAC_READ_SEARCH")
	case m.has(capSysAdmin):
		return info("not mounted here, CAP_SYS_ADMIN can reach it", "")
	}
	return info("not to be seen", lost+"mount tracefs on /sys/kernel/tracing where this user can read it, or add CAP_SYS_ADMIN")
}

func seccomp(m *machine, _ string) Check {
	mode, is := field(m.status, "Seccomp")
	switch {
	case !is:
		return unknown("no Seccomp line")
	case m.filtered():
		return info("filter", "it may refuse perf_event_open and bpf, whatever the capabilities")
	}
	return ok(strings.NewReplacer("0", "off", "1", "strict").Replace(mode))
}

// Cause says whether one cause of gaps can be distinguished from the others with the
// rights at hand.
type Cause struct {
	Cause     string `json:"cause"`
	Decidable bool   `json:"decidable"`
	How       string `json:"how,omitempty"`   // the evidence
	Needs     string `json:"needs,omitempty"` // what to do for it, or for more of it; why it cannot be, where nothing helps
}

// addCauses adds each cause with the evidence for it, or with what the probe needs. The
// limits of the probe say which causes it cannot decide.
func (r *Report) addCauses(m *machine) {
	followed := m.limit(stall.HostFault) == ""
	traced := m.limit(stall.HostIRQ) == "" && m.limit(stall.HostSteal) == ""
	preempted, more := "run_delay of the probe's thread, not by whom", m.limit(stall.HostFault)
	either, suspended := "no context switch and no fault meanwhile, by their counts", "CLOCK_BOOTTIME against CLOCK_MONOTONIC"
	if followed {
		preempted, more = "context switches of the probe's thread, not by whom", m.limit(stall.HostSteal)
		either, suspended = "no context switch and no fault in the gap", "CLOCK_BOOTTIME against CLOCK_MONOTONIC, stops of the probe's thread"
	}
	if followed && traced {
		preempted, more = "context switches of the CPU, by whom", ""
	}
	for _, c := range []struct {
		cause     stall.Cause
		how, more string // more is what would show more of it where it is decidable
	}{
		{stall.HostThrottled, "cpu.stat of the cgroup and its ancestors", ""},
		{stall.HostPreempted, preempted, more},
		{stall.HostIRQ, "interrupts of the CPU", ""},
		{stall.HostSteal, "no event of the kernel in the gap, none lost", ""},
		{stall.HostIRQOrSteal, either, ""},
		{stall.HostFault, "faults of the probe's thread", ""},
		{stall.HostSuspended, suspended, ""},
	} {
		switch name, limit := c.cause.String(), m.limit(c.cause); {
		case traced && c.cause == stall.HostIRQOrSteal: // the two are distinguished
		case limit != "":
			r.Causes = append(r.Causes, Cause{Cause: name, Needs: limit})
		default:
			r.Decidable = append(r.Decidable, name)
			r.Causes = append(r.Causes, Cause{name, true, c.how, c.more})
		}
	}
}

// limit returns what would let the probe decide c, else why it cannot. It is empty if
// the probe can.
func (m *machine) limit(c stall.Cause) string {
	for _, l := range m.limits {
		switch {
		case !slices.Contains(l.Causes, c):
		case l.Mend != "":
			return l.Mend
		default:
			return l.Why
		}
	}
	return ""
}

// allCauses are those that a probe can give to a gap of the machine.
var allCauses = []stall.Cause{
	stall.HostThrottled, stall.HostPreempted, stall.HostIRQ, stall.HostSteal, stall.HostIRQOrSteal, stall.HostFault, stall.HostSuspended,
}

// noProbe are the limits of a probe that cannot run.
func noProbe(err error) []jitterprobe.Limit {
	return []jitterprobe.Limit{{Causes: allCauses, Why: "the probe cannot run: " + err.Error()}}
}
