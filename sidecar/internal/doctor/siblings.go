package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// busySibling is the share of its time from which a sibling is busy: a tick in
// 2 s is not.
const busySibling = 0.02

// siblings judges who shares the core: two hyperthreads slow each other.
func (m *machine) siblings() Check {
	c := about("cpu.siblings", m.cpuFile("topology/thread_siblings_list"))
	cpus, err := m.siblingCPUs()
	if err != nil {
		return c.unread(err)
	}
	smt, err := m.text("sys/devices/system/cpu/smt/active")
	switch {
	case len(cpus) == 0 && err == nil && smt == "0":
		return c.ok("none, SMT is off")
	case len(cpus) == 0:
		return c.ok("none")
	}
	value := fmt.Sprintf("CPU %d shares its core with %s", m.cpu, join(cpus))
	if m.spins() && m.targetMayUse(cpus) {
		return c.warn(value+", which the target may use", "a spinner slows what runs on its sibling: choose another --cpu, or taskset the target to other cores")
	}
	switch busy, why := m.siblingBusy(cpus); {
	case why == "":
		return c.warn(value, "a busy sibling slows the probe, and a spinner the sibling: keep the service off both")
	case busy:
		return c.warn(value+", "+why, "a busy sibling slows the probe, and a spinner the sibling: choose another --cpu, or keep work off both")
	default:
		return c.info(value+", "+why, "good as long as it stays so: keep the service off it, or switch SMT off")
	}
}

// siblingCPUs returns the other CPUs of the probe's core.
func (m *machine) siblingCPUs() ([]int, error) {
	cpus, err := m.cpuListOf(m.cpuFile("topology/thread_siblings_list"))
	return slices.DeleteFunc(cpus, func(cpu int) bool { return cpu == m.cpu }), err
}

// siblingBusy reports whether somebody uses the siblings: by the time that they
// were busy during the self-test, else by who is runnable there now. It says how
// it knows, and nothing if it does not.
func (m *machine) siblingBusy(cpus []int) (busy bool, why string) {
	if m.tested && m.before.core.known && m.after.core.known && m.after.core.all > m.before.core.all {
		share := float64(m.after.core.busy-min(m.before.core.busy, m.after.core.busy)) / float64(m.after.core.all-m.before.core.all)
		return share >= busySibling, fmt.Sprintf("busy %.0f %% of the self-test", 100*share)
	}
	if len(m.threads) == 0 {
		return false, ""
	}
	names := m.runnable(cpus)
	if len(names) == 0 {
		return false, "idle now"
	}
	return true, "where " + few(names) + " runs"
}

// targetMayUse reports whether the target counts on one of the CPUs.
func (m *machine) targetMayUse(cpus []int) bool {
	if m.target == 0 {
		return false
	}
	allowed, _, err := m.allowedTo()
	return err == nil && slices.ContainsFunc(cpus, func(cpu int) bool { return slices.Contains(allowed, cpu) })
}

func join(cpus []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(cpus)), ","), "[]")
}
