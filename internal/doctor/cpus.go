package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Where the kernel says which CPUs it schedules nobody on: those of isolcpus=,
// and those of isolated partitions of cgroup v2.
const (
	isolatedFile   = "sys/devices/system/cpu/isolated"
	partitionsFile = "sys/fs/cgroup/cpuset.cpus.isolated"
)

// cpus judges which CPUs this process has, and what the probe's shares.
func (m *machine) cpus() []Check {
	c := about("cpuset", "proc/self/status")
	list, _ := field(m.status, "Cpus_allowed_list")
	value := fmt.Sprintf("%s, probe on %d", list, m.cpu)
	switch {
	case len(m.allowed) == 0:
		c = c.none("no Cpus_allowed_list")
	case !slices.Contains(m.allowed, m.cpu):
		c = c.fail(fmt.Sprintf("%s, without CPU %d", list, m.cpu), "the probe may not run there: choose another --cpu, or widen the cpuset")
	case len(m.allowed) > 1:
		c = c.ok(value)
	case m.spins():
		c = c.fail(value, "a spinner on the only CPU takes it from the service: use --mode periodic, or give a second CPU")
	default:
		c = c.info(value, "one CPU: no other mode than periodic")
	}
	return []Check{c, m.siblings()}
}

// siblings judges who shares the core: two hyperthreads slow each other.
func (m *machine) siblings() Check {
	file := m.cpuFile("topology/thread_siblings_list")
	c := about("cpu.siblings", file)
	cpus, err := m.cpuListOf(file)
	if err != nil {
		return c.unread(err)
	}
	smt, err := m.text("sys/devices/system/cpu/smt/active")
	cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return cpu == m.cpu })
	switch {
	case len(cpus) == 0 && err == nil && smt == "0":
		return c.ok("none, SMT is off")
	case len(cpus) == 0:
		return c.ok("none")
	}
	return c.warn(fmt.Sprintf("CPU %d shares its core with %s", m.cpu, join(cpus)),
		"a busy sibling slows the probe, and a spinner the sibling: keep the service off both")
}

func join(cpus []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(cpus)), ","), "[]")
}

// isolation judges whether the kernel keeps its own work off the CPU.
func (m *machine) isolation() []Check {
	c := about("isolation", isolatedFile)
	if _, err := m.cpuListOf(isolatedFile); err != nil {
		return []Check{c.unread(err)}
	}
	var have, lack []string
	note := func(what string, cpus []int, err error) {
		switch {
		case err != nil: // the kernel was built without it
			lack = append(lack, what)
		case slices.Contains(cpus, m.cpu):
			have = append(have, what)
		default:
			lack = append(lack, what)
		}
	}
	note("isolcpus", m.isolatedCPUs(), nil)
	full, err := m.cpuListOf("sys/devices/system/cpu/nohz_full")
	note("nohz_full", full, err)
	callbacks, err := m.bootList("rcu_nocbs=")
	note("rcu_nocbs", callbacks, err)
	if irqs, err := m.bootList("irqaffinity="); err == nil && len(irqs) > 0 && !slices.Contains(irqs, m.cpu) {
		have = append(have, "irqaffinity")
	} else {
		lack = append(lack, "irqaffinity")
	}
	switch {
	case len(lack) == 0:
		return []Check{c.ok(few(have))}
	case len(have) == 0:
		return []Check{c.info("none", "expect a tick of some 10 us in every 1/HZ, and kernel threads: isolcpus=, nohz_full=, rcu_nocbs= and irqaffinity= keep them off")}
	}
	return []Check{c.info(few(have)+", not "+few(lack), "the rest of the kernel's work still comes to this CPU")}
}

// isolatedCPUs returns the CPUs that the scheduler keeps others off.
func (m *machine) isolatedCPUs() []int {
	cpus, _ := m.cpuListOf(isolatedFile)         // isolation says so
	partitions, _ := m.cpuListOf(partitionsFile) // there is none before cgroup v2 of Linux 6.7
	return append(cpus, partitions...)
}

// bootList returns the list of CPUs of a boot parameter, empty if it is not
// given.
func (m *machine) bootList(name string) ([]int, error) {
	text, err := m.text("proc/cmdline")
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(text) {
		if list, ok := strings.CutPrefix(word, name); ok {
			return cpuList(list)
		}
	}
	return nil, nil
}
