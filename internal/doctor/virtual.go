package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// virtual judges whether there is a hypervisor, and what it takes.
func (m *machine) virtual() []Check {
	const file = "proc/cpuinfo"
	c := about("virtualised", file)
	flags, err := m.cpuFlags()
	name := m.hypervisor()
	is := slices.Contains(flags, "hypervisor") || name != ""
	if name == "" {
		name = "hypervisor flag"
	}
	switch {
	case err != nil:
		c = c.unread(err)
	case is:
		c = c.info(name, "gaps above 10 us may be the host's: read host.steal as the hypervisor, not as this kernel")
	case len(flags) == 0:
		c = c.none("no CPU flags")
	default:
		c = c.ok("no hypervisor")
	}
	return []Check{c, m.steal(is)}
}

// hypervisor names what the machine runs on, if a file does.
func (m *machine) hypervisor() string {
	if t, err := m.text("sys/hypervisor/type"); err == nil && t != "" {
		return t
	}
	known := []string{"KVM", "Virtual Machine", "VMware", "VirtualBox", "HVM domU", "Google Compute Engine", "Standard PC", "Bochs"}
	product, err := m.text("sys/class/dmi/id/product_name")
	if err != nil {
		return ""
	}
	for _, k := range known {
		if len(product) >= len(k) && product[:len(k)] == k {
			return product
		}
	}
	return ""
}

// steal judges what /proc/stat says of time that the host did not give. It
// counts in ticks of 10 ms and misses what the host does not admit.
func (m *machine) steal(virtual bool) Check {
	c := about("steal", "proc/stat")
	if err := errors.Join(m.before.stealErr, m.after.stealErr); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return c.unread(fs.ErrNotExist)
		}
		return c.unread(m.after.stealErr)
	}
	now, all := m.after.steal, m.after.ticks
	taken := now - min(now, m.before.steal)
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
