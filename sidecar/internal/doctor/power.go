package doctor

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// goodLatency is the longest exit from sleep that hides in the lateness of any
// timer.
const goodLatency = 10 // us

// power judges what saves power at the cost of time.
func (m *machine) power() []Check {
	return []Check{m.governor(), m.boost(), m.sleepStates(), m.latencyRequest(), m.timerSlack()}
}

func (m *machine) governor() Check {
	file := m.cpuFile("cpufreq/scaling_governor")
	c := about("governor", file)
	name, err := m.text(file)
	switch {
	case err != nil:
		return c.unread(err)
	case name == "performance":
		return c.ok(name)
	}
	return c.warn(name, "the frequency follows the load: the same work takes longer after a rest; a spinner hides it on its own CPU. Set performance")
}

// boost judges whether the frequency depends on heat and on neighbours.
func (m *machine) boost() Check {
	const intel, other = "sys/devices/system/cpu/intel_pstate/no_turbo", "sys/devices/system/cpu/cpufreq/boost"
	on, file := int64(0), intel
	n, err := m.number(intel)
	if err == nil {
		on = 1 - n
	} else {
		file = other
		on, err = m.number(other)
	}
	c := about("boost", file)
	switch {
	case err != nil:
		return c.unread(err)
	case on == 0:
		return c.ok("off")
	}
	return c.info("on", "the top frequency depends on heat and on the other cores: switch it off to compare runs")
}

// maxStates bounds the sleep states of a CPU (CPUIDLE_STATE_MAX is 10).
const maxStates = 16

// sleepStates judges how deep an idle CPU sleeps.
func (m *machine) sleepStates() Check {
	c := about("cstates", m.cpuFile("cpuidle"))
	driver, err := m.text("sys/devices/system/cpu/cpuidle/current_driver")
	if err != nil {
		return c.unread(err)
	}
	if driver == "none" {
		return c.info("no idle driver", "the hypervisor or the firmware decides how deep a CPU sleeps")
	}
	deepest, name, found := int64(0), "", false
	for i := range maxStates {
		dir := m.cpuFile("cpuidle/state" + strconv.Itoa(i) + "/")
		latency, err := m.number(dir + "latency")
		if err != nil {
			break
		}
		found = true
		if off, err := m.number(dir + "disable"); err == nil && off != 0 {
			continue
		}
		if latency >= deepest {
			deepest = latency
			name, _ = m.text(dir + "name") // its latency says enough
		}
	}
	value := fmt.Sprintf("%s, deepest %s: %d us", driver, name, deepest)
	switch {
	case !found:
		return c.none("driver " + driver + ", no states")
	case deepest <= goodLatency:
		return c.ok(value)
	case m.spins():
		return c.info(value, "a spinner does not sleep; the service's CPUs wake up so much later")
	}
	return c.warn(value, "each wake-up of the probe is so much later: hold /dev/cpu_dma_latency open with 0 in it while measuring")
}

// latencyRequest tells what somebody asked of the sleep states
// (Documentation/power/pm_qos_interface.rst).
func (m *machine) latencyRequest() Check {
	const file = "dev/cpu_dma_latency"
	c := about("pm_qos", file)
	data, err := m.bytes(file, 64)
	switch {
	case err != nil:
		return c.unread(err)
	case len(data) != 4:
		return c.none(fmt.Sprintf("%d bytes, not a number", len(data)))
	}
	switch n := int32(binary.NativeEndian.Uint32(data)); {
	case n == 0:
		return c.ok("0 us: no CPU sleeps")
	case n < 1000*1000:
		return c.info(fmt.Sprintf("at most %d us", n), "")
	}
	return c.info("no request", "CPUs may sleep as deep as they like")
}

func (m *machine) timerSlack() Check {
	const file = "proc/self/timerslack_ns"
	c := about("timerslack", file)
	n, err := m.number(file)
	switch {
	case err != nil:
		return c.unread(err)
	case n <= 1:
		return c.ok(fmt.Sprintf("%d ns", n))
	}
	return c.info(fmt.Sprintf("%d ns", n), "timers may be so much late; the probe sets 1 ns for its own thread, services do not")
}
