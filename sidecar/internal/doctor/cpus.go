package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// Where the kernel says which CPUs it schedules nobody on: those of isolcpus=,
// and those of isolated partitions of cgroup v2.
const (
	isolatedFile   = "sys/devices/system/cpu/isolated"
	partitionsFile = "sys/fs/cgroup/cpuset.cpus.isolated"
)

// cpus judges which CPUs this process has, and with whom the probe's shares.
func (m *machine) cpus() []Check {
	c := about("cpuset", "proc/self/status")
	list, _ := field(m.status, "Cpus_allowed_list")
	value := fmt.Sprintf("%s, probe on %d", list, m.cpu)
	switch {
	case len(m.allowed) == 0:
		c = c.none("no Cpus_allowed_list")
	case !slices.Contains(m.allowed, m.cpu):
		c = c.fail(fmt.Sprintf("%s, without CPU %d", list, m.cpu), "the probe may not run there: choose another --cpu, or give it that CPU (taskset, cpuset.cpus)")
	case len(m.allowed) > 1:
		c = c.ok(value)
	case m.spins():
		c = c.fail(value, "a spinner on the only CPU takes it from the service: use --mode periodic, or give a second CPU")
	default:
		c = c.info(value, "one CPU: no other mode than periodic")
	}
	return []Check{c, m.cpuset(), m.siblings()}
}

// cpuset judges which CPUs the cgroup leaves to this process at all: taskset
// widens no further.
func (m *machine) cpuset() Check {
	c := about("cpuset.cgroup", "proc/self/cgroup")
	list, file, err := cgroup.CPUs(m.root, "self")
	if err != nil {
		return c.unread(err)
	}
	if file == "" {
		return c.none("no cgroup with the cpuset controller to be seen")
	}
	c.File = "/" + file
	cpus, err := cpuList(list)
	switch {
	case err != nil:
		return c.none(err.Error())
	case len(cpus) > 0 && !slices.Contains(cpus, m.cpu):
		return c.fail(fmt.Sprintf("%s, without CPU %d", list, m.cpu), "taskset cannot give the probe that CPU: choose another --cpu, or widen cpuset.cpus of the cgroup")
	}
	return c.ok(list)
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
