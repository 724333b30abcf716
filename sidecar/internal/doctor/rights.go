package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Capabilities by their number (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

// rights is what this process may ask of the kernel.
type rights struct {
	caps       uint64 // in the user namespace that this process is in
	paranoid   int64
	paranoidIs bool // the file could be read
	filtered   bool // seccomp
	thread     error
	cpu        error
	load       error  // of a BPF program
	tracefs    string // where it is, empty if nowhere
	untraced   error  // why it cannot be listed, if it is there
	btf        bool
	otherPIDs  bool // this PID namespace is not the initial one
}

// initialPIDs is the initial PID namespace (PROC_PID_INIT_INO,
// include/linux/proc_ns.h), whose ids the kernel has.
const initialPIDs = "pid:[4026531836]"

func (r *rights) has(capability uint) bool {
	return r.caps&(1<<capability) != 0
}

// named reports whether this process has the capabilities that loading programs
// for the scheduler takes, be it in a user namespace where they do not help.
func (r *rights) named() bool {
	return r.has(capSysAdmin) || r.has(capBPF) && r.has(capPerfmon)
}

func (m *machine) rights() rights {
	var r rights
	if text, ok := field(m.status, "CapEff"); ok {
		if n, err := strconv.ParseUint(text, 16, 64); err == nil {
			r.caps = n
		}
	}
	n, err := m.number("proc/sys/kernel/perf_event_paranoid")
	r.paranoid, r.paranoidIs = n, err == nil
	mode, _ := field(m.status, "Seccomp")
	r.filtered = mode == "2"
	r.thread, r.cpu = m.perfThread(), m.perfCPU(max(m.cpu, 0))
	r.load = m.loadBPF()
	for _, dir := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		_, err := m.list(dir + "/events")
		if err == nil {
			r.tracefs, r.untraced = dir, nil
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			r.untraced = err
		}
	}
	pids, err := fs.ReadLink(m.FS, "proc/self/ns/pid")
	r.otherPIDs = err == nil && pids != initialPIDs
	if f, err := m.Open("sys/kernel/btf/vmlinux"); err == nil {
		r.btf = true
		_ = f.Close() // read only
	}
	return r
}

// rightsOf judges what may be asked of the kernel about causes.
func (m *machine) rightsOf() []Check {
	r := m.rights()
	return []Check{r.perfCheck(), r.bpfCheck(), m.bpfSwitch(), r.tracefsCheck(), m.seccompCheck(&r)}
}

func (r *rights) perfCheck() Check {
	c := about("rights.perf", "proc/sys/kernel/perf_event_paranoid")
	level := "perf_event_paranoid not readable"
	if r.paranoidIs {
		level = fmt.Sprintf("perf_event_paranoid %d", r.paranoid)
	}
	switch {
	case r.thread != nil:
		return c.warn(level+", refused: "+why(r.thread), "faults and interrupts cannot be told from other gaps, nor who preempts: set it to 2 or less, allow perf_event_open in seccomp, or add CAP_PERFMON")
	case r.cpu != nil:
		return c.info(level+", own threads", "who preempts stays unknown: add CAP_PERFMON")
	}
	return c.ok(level + ", whole CPUs")
}

func (r *rights) bpfCheck() Check {
	c := about("rights.bpf", "proc/self/status")
	const counted = "what a target's threads wait for is estimated from counters: "
	switch {
	case r.load != nil && r.named() && r.filtered:
		return c.info("refused: "+why(r.load), counted+"the capabilities are there: allow bpf in seccomp")
	case r.load != nil && r.named():
		return c.info("refused: "+why(r.load), counted+"the capabilities are there, in a user namespace of their own perhaps: they must be of the host's")
	case r.load != nil:
		return c.info("refused: "+why(r.load), counted+"add CAP_BPF and CAP_PERFMON")
	case r.otherPIDs:
		return c.info("CAP_BPF and CAP_PERFMON, in another PID namespace than the kernel's", counted+"share the host's PID namespace (hostPID: true)")
	case !r.btf:
		return c.info("CAP_BPF and CAP_PERFMON, no BTF", counted+"boot a kernel with CONFIG_DEBUG_INFO_BTF")
	}
	return c.ok("CAP_BPF and CAP_PERFMON, BTF")
}

// bpfSwitch tells who may load programs at all
// (Documentation/admin-guide/sysctl/kernel.rst, unprivileged_bpf_disabled). None
// of its values lets the scheduler be followed without capabilities.
func (m *machine) bpfSwitch() Check {
	const file = "proc/sys/kernel/unprivileged_bpf_disabled"
	c := about("rights.bpf.switch", file)
	n, err := m.number(file)
	switch {
	case err != nil:
		return c.unread(err)
	case n == 0:
		return c.info("0", "anybody may load BPF programs, but not follow the scheduler: that takes CAP_BPF and CAP_PERFMON all the same")
	case n == 1:
		return c.ok("1: CAP_BPF only, until the next boot")
	}
	return c.ok(fmt.Sprintf("%d: CAP_BPF only", n))
}

func (r *rights) tracefsCheck() Check {
	c := about("rights.tracefs", "sys/kernel/tracing/events")
	switch {
	case r.tracefs == "" && r.untraced != nil:
		return c.info(why(r.untraced), "interrupts cannot be told from the hypervisor, and who preempts stays unknown: give this user a right to read tracefs (mount option gid=), or add CAP_DAC_READ_SEARCH")
	case r.tracefs == "" && r.has(capSysAdmin):
		return c.info("not mounted here, CAP_SYS_ADMIN can reach it", "")
	case r.tracefs == "":
		return c.info("not to be seen", "interrupts cannot be told from the hypervisor, and who preempts stays unknown: mount tracefs on /sys/kernel/tracing where this user can read it, or add CAP_SYS_ADMIN")
	}
	return c.ok("/" + r.tracefs)
}

func (m *machine) seccompCheck(r *rights) Check {
	c := about("rights.seccomp", "proc/self/status")
	mode, ok := field(m.status, "Seccomp")
	switch {
	case !ok:
		return c.none("no Seccomp line")
	case r.filtered:
		return c.info("filter", "it may refuse perf_event_open and bpf, whatever the capabilities")
	}
	return c.ok(strings.NewReplacer("0", "off", "1", "strict").Replace(mode))
}
