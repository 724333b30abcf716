package doctor

import (
	"fmt"
	"slices"
)

// housekeeping judges the kernel's own timers and threads.
func (m *machine) housekeeping() []Check {
	return []Check{m.vmstat(), m.writeback(), m.watchdog(), m.workqueues()}
}

func (m *machine) vmstat() Check {
	const file = "proc/sys/vm/stat_interval"
	c := about("vmstat", file)
	n, err := m.number(file)
	switch {
	case err != nil:
		return c.unread(err)
	case n <= 1:
		return c.info(fmt.Sprintf("every %d s", n), "a kworker runs on every busy CPU each second: vm.stat_interval=120 while measuring")
	}
	return c.ok(fmt.Sprintf("every %d s", n))
}

func (m *machine) writeback() Check {
	const file = "proc/sys/vm/dirty_writeback_centisecs"
	c := about("writeback", file)
	n, err := m.number(file)
	if err != nil {
		return c.unread(err)
	}
	return c.info(fmt.Sprintf("every %.3g s", float64(n)/100), "")
}

func (m *machine) watchdog() Check {
	const file = "proc/sys/kernel/watchdog"
	c := about("watchdog", file)
	on, err := m.number(file)
	switch {
	case err != nil:
		return c.unread(err)
	case on == 0:
		return c.ok("off")
	}
	cpus, err := m.cpuListOf("proc/sys/kernel/watchdog_cpumask")
	if err == nil && !slices.Contains(cpus, m.cpu) {
		return c.ok(fmt.Sprintf("not on CPU %d", m.cpu))
	}
	value := "on"
	if nmi, err := m.number("proc/sys/kernel/nmi_watchdog"); err == nil && nmi == 1 {
		value = "on, with NMIs"
	}
	return c.info(value, "a timer and a thread of the highest priority every few seconds: take the CPU out of kernel.watchdog_cpumask")
}

func (m *machine) workqueues() Check {
	const file = "sys/devices/virtual/workqueue/cpumask"
	c := about("workqueue", file)
	cpus, err := m.cpuMaskOf(file)
	switch {
	case err != nil:
		return c.unread(err)
	case !slices.Contains(cpus, m.cpu):
		return c.ok(fmt.Sprintf("unbound work stays off CPU %d", m.cpu))
	}
	return c.info(fmt.Sprintf("may run on CPU %d", m.cpu), "unbound kworkers preempt the probe: take the CPU out of the mask")
}
