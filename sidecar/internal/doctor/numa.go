package doctor

import (
	"fmt"
	"slices"
)

const nodes = "sys/devices/system/node/"

// numa judges whether the kernel moves pages between nodes.
func (m *machine) numa() Check {
	const file = "proc/sys/kernel/numa_balancing"
	c := about("numa", file)
	n, err := m.number(file)
	if err != nil {
		return c.unread(err)
	}
	online, err := m.cpuListOf(nodes + "online")
	switch {
	case n == 0:
		return c.ok("no balancing")
	case err == nil && len(online) == 1:
		return c.ok("balancing, but one node")
	}
	return c.warn("balancing", "hint faults and migrations stall threads: set kernel.numa_balancing=0 and bind the service to a node")
}

// node judges where the memory of the probe is: it writes its ring all the time,
// and one on another node makes every gap look longer.
func (m *machine) node() Check {
	c := about("numa.node", nodes+"online")
	online, err := m.cpuListOf(nodes + "online")
	if err != nil {
		return c.unread(err)
	}
	if len(online) == 1 {
		return c.ok("one node")
	}
	own, cpus, file := m.nodeOf(online)
	if file == "" {
		return c.none(fmt.Sprintf("no node has CPU %d", m.cpu))
	}
	c.File = "/" + file
	text, _ := field(m.status, "Mems_allowed_list")
	memory, _ := cpuList(text) // nodes are listed like CPUs
	value := fmt.Sprintf("CPU %d on node %d", m.cpu, own)
	bind := fmt.Sprintf("start the sidecar by numactl --cpunodebind=%d --membind=%d", own, own)
	switch {
	case len(memory) == 0:
		return c.none(value + ", no Mems_allowed_list")
	case !slices.Contains(memory, own):
		return c.warn(fmt.Sprintf("%s, its memory on %s", value, text), "each look goes to another node's memory: choose a CPU of that node, or widen cpuset.mems")
	case len(memory) > 1 && slices.ContainsFunc(m.allowed, func(cpu int) bool { return !slices.Contains(cpus, cpu) }):
		return c.info(fmt.Sprintf("%s, its memory on any of %s", value, text), "its ring is where the thread ran that made it: "+bind)
	}
	return c.ok(value + ", with its memory")
}

// nodeOf returns the node of the probe's CPU, all CPUs of it, and the file that
// says so, empty if none does.
func (m *machine) nodeOf(online []int) (node int, cpus []int, file string) {
	for _, n := range online {
		file := fmt.Sprintf("%snode%d/cpulist", nodes, n)
		if cpus, err := m.cpuListOf(file); err == nil && slices.Contains(cpus, m.cpu) {
			return n, cpus, file
		}
	}
	return 0, nil, ""
}
