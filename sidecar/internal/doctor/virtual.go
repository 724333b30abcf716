package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// virtual judges whether there is a hypervisor, and what it takes.
func (m *machine) virtual() []Check {
	const file = "proc/cpuinfo"
	c := about("virtualised", file)
	flags, err := m.cpuFlags()
	name, says := m.hypervisor()
	is := slices.Contains(flags, "hypervisor") || name != ""
	if name == "" {
		name, says = "hypervisor flag", file
	}
	switch {
	case err != nil && !is:
		c = c.unread(err)
	case is:
		c = about("virtualised", says).info(name, "gaps above 10 us may be the host's: read host.steal as the hypervisor, not as this kernel")
	case len(flags) == 0:
		c = c.none("no CPU flags")
	default:
		c = c.ok("no hypervisor")
	}
	return []Check{c, m.steal(is)}
}

// hypervisor names what the machine runs on, if a file does, and that file.
func (m *machine) hypervisor() (name, file string) {
	const hypervisor, product = "sys/hypervisor/type", "sys/class/dmi/id/product_name"
	if t, err := m.text(hypervisor); err == nil && t != "" {
		return t, hypervisor
	}
	known := []string{"KVM", "Virtual Machine", "VMware", "VirtualBox", "HVM domU", "Google Compute Engine", "Standard PC", "Bochs"}
	text, err := m.text(product)
	if err == nil && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(text, k) }) {
		return text, product
	}
	return "", ""
}

// steal judges what /proc/stat says of time that the host did not give. It
// counts in ticks of 10 ms and misses what the host does not admit.
func (m *machine) steal(virtual bool) Check {
	c := about("steal", "proc/stat")
	if err := cmp.Or(m.after.cpuErr, m.before.cpuErr); err != nil {
		return c.unread(err)
	}
	now, all := m.after.cpu.steal, m.after.cpu.all
	taken := now - min(now, m.before.cpu.steal)
	since := fmt.Sprintf("%.2g %% since boot", 100*float64(now)/float64(max(all, 1)))
	if m.tested {
		since += fmt.Sprintf(", %d ticks in the self-test", taken)
	}
	switch {
	case taken > 0:
		return c.warn(since, "the host is short of CPUs now: measure elsewhere, or with dedicated CPUs")
	case now > 0:
		return c.info(since, "the host has taken this CPU away before: ask for dedicated CPUs")
	case virtual:
		return c.info("0", "proves nothing: hosts take time in pieces too short to be counted here")
	}
	return c.ok("0")
}
