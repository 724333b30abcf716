package doctor

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
)

const hugepages = "sys/kernel/mm/transparent_hugepage/"

// powerChecks look at settings that save power and cost time.
var powerChecks = []check{
	{"governor", "sys/devices/system/cpu/cpuCPU#/cpufreq/scaling_governor", read(root.text, func(_ *machine, name string) Check {
		if name == "performance" {
			return ok(name)
		}
		return warn(name, "the frequency follows the load: the same work takes longer after a rest; a spinner hides it on its own CPU. Set performance")
	})},
	{"boost", "", boost},
	{"cstates", "sys/devices/system/cpu/cpuCPU#/cpuidle", (*machine).sleepStates},
	{"pm_qos", "dev/cpu_dma_latency", latencyRequest},
	{"timerslack", "proc/self/timerslack_ns", read(root.number, func(_ *machine, n int64) Check {
		if n <= 1 {
			return ok(fmt.Sprintf("%d ns", n))
		}
		return info(fmt.Sprintf("%d ns", n), "timers may be so much late; the probe sets 1 ns for its own thread, services do not")
	})},
}

// memoryChecks look at settings by which the kernel moves or changes a program's memory.
var memoryChecks = []check{
	{"thp", hugepages + "enabled", read(root.text, hugePages)},
	{"khugepaged", hugepages + "khugepaged/defrag", bestZero("khugepaged compacts memory to collapse huge pages: short stalls of whoever holds the locks")},
	{"compaction", "proc/sys/vm/compaction_proactiveness", bestZero("kcompactd moves pages ahead of need: set 0 while measuring")},
	{"ksm", "sys/kernel/mm/ksm/run", bestZero("merged pages are copied at the next write to them: a fault in the service")},
	{"damon", "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", bestZero("kdamond samples page tables: a few faults, and a kernel thread")},
	{"numa", "proc/sys/kernel/numa_balancing", read(root.number, numaBalancing)},
	{"numa.node", nodes + "online", read(root.cpuList, (*machine).node)},
	{"swap", "proc/swaps", read(root.text, swapping)},
}

// boost checks whether the frequency depends on heat and on neighbours.
func boost(m *machine, _ string) Check {
	const intel, other = "sys/devices/system/cpu/intel_pstate/no_turbo", "sys/devices/system/cpu/cpufreq/boost"
	file := intel
	off, err := m.number(intel)
	on := 1 - off
	if err != nil {
		file = other
		on, err = m.number(other)
	}
	switch {
	case err != nil:
		return unread(err).in(file)
	case on == 0:
		return ok("off").in(file)
	}
	return info("on", "the top frequency depends on heat and on the other cores: switch it off to compare runs").in(file)
}

const (
	// goodLatency is the longest exit from sleep, in us, that hides in the lateness of
	// any timer.
	goodLatency = 10
	// maxStates bounds the sleep states of a CPU (CPUIDLE_STATE_MAX is 10).
	maxStates = 16
)

// sleepStates checks how deep an idle CPU sleeps.
func (m *machine) sleepStates(dir string) Check {
	driver, err := m.text("sys/devices/system/cpu/cpuidle/current_driver")
	if err != nil {
		return unread(err)
	}
	if driver == "none" {
		return info("no idle driver", "the hypervisor or the firmware decides how deep a CPU sleeps")
	}
	deepest, name, found := int64(0), "", false
	for i := range maxStates {
		state := dir + "/state" + strconv.Itoa(i) + "/"
		latency, err := m.number(state + "latency")
		if err != nil {
			break
		}
		found = true
		if off, err := m.number(state + "disable"); err == nil && off != 0 {
			continue
		}
		if latency >= deepest {
			deepest = latency
			name, _ = m.text(state + "name") // its latency says enough
		}
	}
	value := fmt.Sprintf("%s, deepest %s: %d us", driver, name, deepest)
	switch {
	case !found:
		return unknown("driver " + driver + ", no states")
	case deepest <= goodLatency:
		return ok(value)
	case m.spins():
		return info(value, "a spinner does not sleep; the service's CPUs wake up so much later")
	}
	return warn(value, "each wake-up of the probe is so much later: hold /dev/cpu_dma_latency open with 0 in it while measuring")
}

// latencyRequest reports which limit programs have set on the sleep states
// (Documentation/power/pm_qos_interface.rst).
func latencyRequest(m *machine, file string) Check {
	data, err := proc.Read(m, file)
	switch {
	case err != nil:
		return unread(err)
	case len(data) != 4:
		return unknown(fmt.Sprintf("%d bytes, not a number", len(data)))
	}
	switch n := int32(binary.NativeEndian.Uint32(data)); {
	case n == 0:
		return ok("0 us: no CPU sleeps")
	case n < 1000*1000:
		return info(fmt.Sprintf("at most %d us", n), "")
	}
	return info("no request", "CPUs may sleep as deep as they like")
}

func hugePages(m *machine, enabled string) Check {
	defrag, err := m.text(hugepages + "defrag")
	if err != nil {
		return unknown("defrag: " + why(err))
	}
	enabled, defrag = chosen(enabled, "[]"), chosen(defrag, "[]")
	value := fmt.Sprintf("%s, defrag %s", enabled, defrag)
	if enabled == "always" && defrag == "always" {
		return info(value, "a page fault may compact memory before it returns: set defrag to madvise or never")
	}
	return ok(value)
}

// bestZero checks a setting that is best 0.
func bestZero(advice string) func(*machine, string) Check {
	return read(root.number, func(_ *machine, n int64) Check {
		if n == 0 {
			return ok("0")
		}
		return info(strconv.FormatInt(n, 10), advice)
	})
}

const nodes = "sys/devices/system/node/"

// numaBalancing checks whether the kernel moves pages between nodes.
func numaBalancing(m *machine, n int64) Check {
	online, _ := m.cpuList(nodes + "online")
	switch {
	case n == 0:
		return ok("no balancing")
	case len(online) == 1:
		return ok("balancing, but one node")
	}
	return warn("balancing", "hint faults and migrations stall threads: set kernel.numa_balancing=0 and bind the service to a node")
}

// node checks on which node the probe's memory is. The probe writes its ring all the time:
// a ring on another node makes every gap look longer.
func (m *machine) node(online []int) Check {
	if len(online) == 1 {
		return ok("one node")
	}
	for _, own := range online {
		file := fmt.Sprintf("%snode%d/cpulist", nodes, own)
		if cpus, err := m.cpuList(file); err == nil && m.on(cpus) {
			return m.onNode(own, cpus).in(file)
		}
	}
	return unknown(fmt.Sprintf("no node has CPU %d", m.cpu))
}

// onNode checks a probe whose CPU is one of cpus, all of node own.
func (m *machine) onNode(own int, cpus []int) Check {
	text, _ := field(m.status, "Mems_allowed_list")
	memory, _ := proc.ParseCPUs(text) // nodes are listed like CPUs
	value := fmt.Sprintf("CPU %d on node %d", m.cpu, own)
	switch {
	case len(memory) == 0:
		return unknown(value + ", no Mems_allowed_list")
	case !slices.Contains(memory, own):
		return warn(fmt.Sprintf("%s, its memory on %s", value, text), "each look goes to another node's memory: choose a CPU of that node, or widen cpuset.mems")
	case len(memory) > 1 && slices.ContainsFunc(m.allowed, func(cpu int) bool { return !slices.Contains(cpus, cpu) }):
		return info(fmt.Sprintf("%s, its memory on any of %s", value, text),
			fmt.Sprintf("its ring is where the thread ran that made it: start the sidecar by numactl --cpunodebind=%d --membind=%d", own, own))
	}
	return ok(value + ", with its memory")
}

// swapping checks whether memory can be on disk.
func swapping(m *machine, text string) Check {
	n := strings.Count(text, "\n") // the first line is a heading
	if n == 0 {
		return ok("none")
	}
	value := plural(n, "area")
	if s, err := m.number("proc/sys/vm/swappiness"); err == nil {
		value += fmt.Sprintf(", swappiness %d", s)
	}
	if locked, _ := field(m.status, "VmLck"); locked != "" && !strings.HasPrefix(locked, "0 ") {
		return info(value+", "+locked+" of the probe locked", "the service's memory may still be swapped out: its pauses are paging then")
	}
	return warn(value, "a collector touches the whole heap: a pause over swapped memory lasts as long as the disk; swapoff, or limit memory")
}
