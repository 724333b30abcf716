package doctor

import (
	"fmt"
	"slices"
	"strconv"
)

// interrupts judges which devices interrupt the probe's CPU.
func (m *machine) interrupts() []Check {
	c := about("irq.affinity", "proc/irq")
	lines, err := m.list("proc/irq")
	if err != nil {
		return []Check{c.unread(err), m.irqDefault(), m.irqBalance()}
	}
	slices.SortFunc(lines, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	var on []string
	read := 0
	for _, line := range lines {
		dir := "proc/irq/" + line
		cpus, err := m.cpuListOf(dir + "/effective_affinity_list")
		if err != nil {
			continue // default_smp_affinity, or a line without a device
		}
		read++
		if slices.Contains(cpus, m.cpu) {
			on = append(on, m.device(dir, line))
		}
	}
	switch {
	case read == 0:
		c = c.none("no effective_affinity_list")
	case len(on) == 0:
		c = c.ok(fmt.Sprintf("no device of %d interrupts CPU %d", read, m.cpu))
	default:
		judge := c.info
		if m.isolated() {
			judge = c.warn
		}
		c = judge(few(on), fmt.Sprintf("may interrupt CPU %d: write other CPUs to /proc/irq/N/smp_affinity_list, or irqaffinity= at boot", m.cpu))
	}
	return []Check{c, m.irqDefault(), m.irqBalance()}
}

// device names an interrupt by its device, whose directory lies in its own.
func (m *machine) device(dir, line string) string {
	names, err := m.list(dir)
	if err != nil {
		return line
	}
	for _, name := range names {
		switch name {
		case "affinity_hint", "effective_affinity", "effective_affinity_list", "node", "smp_affinity", "smp_affinity_list", "spurious":
		default:
			return name
		}
	}
	return line
}

// irqDefault tells where the interrupts of devices go that are set up later.
func (m *machine) irqDefault() Check {
	const file = "proc/irq/default_smp_affinity"
	c := about("irq.default", file)
	text, err := m.text(file)
	if err != nil {
		return c.unread(err)
	}
	cpus, err := cpuMask(text)
	switch {
	case err != nil:
		return c.none(err.Error())
	case !slices.Contains(cpus, m.cpu):
		return c.ok(fmt.Sprintf("%s, without CPU %d", text, m.cpu))
	}
	return c.info(fmt.Sprintf("%s, with CPU %d", text, m.cpu), "a device that comes later may interrupt the probe: irqaffinity= at boot")
}

// irqBalance judges whether a daemon moves the interrupts about.
func (m *machine) irqBalance() Check {
	c := about("irqbalance", "proc")
	if len(m.threads) == 0 {
		return c.none("no threads to be seen")
	}
	for _, t := range m.threads {
		if t.name == "irqbalance" {
			return c.info("running", "it moves interrupts to other CPUs as it likes: stop it, or ban the probe's CPU (IRQBALANCE_BANNED_CPULIST)")
		}
	}
	return c.ok("not running")
}
