package doctor

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/jitterprobe"
)

// clocksource judges the clock that the kernel itself keeps time with: where
// it is not the cycle counter, the kernel has found the counter wanting.
func (m *machine) clocksource() []Check {
	const file = "sys/devices/system/clocksource/clocksource0/current_clocksource"
	c := about("clocksource", file)
	source, err := m.text(file)
	if err != nil {
		return []Check{c.unread(err)}
	}
	judge := c.fail
	if m.mode == jitterprobe.Periodic {
		judge = c.info
	}
	want := "tsc"
	if m.arch == "arm64" {
		want = "arch_sys_counter"
	}
	switch {
	case source == want:
	case source == "kvm-clock", source == "hyperv_clocksource_tsc_page":
		return []Check{c.warn(source, "a paravirtual clock: the cycle counter cannot be trusted here, and the probe falls back to mode periodic; boot with clocksource=tsc if the host's is stable")}
	default:
		return []Check{judge(source, "each read of this clock costs microseconds or a trap, and the cycle counter is not trusted: boot with clocksource=tsc tsc=reliable if the hardware allows, else use --mode periodic")}
	}
	if m.arch != "amd64" {
		return []Check{c.ok(source)}
	}
	flags, err := m.cpuFlags()
	if err != nil {
		return []Check{c.none("tsc, but /proc/cpuinfo: " + why(err))}
	}
	for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
		if !slices.Contains(flags, flag) {
			return []Check{judge("tsc without "+flag, "ticks change their length with frequency or sleep: use --mode periodic")}
		}
	}
	return []Check{c.ok("tsc, constant_tsc nonstop_tsc")}
}

// cpuFlags returns the flags of the first CPU; the kernel clears them for all
// where one lacks them.
func (m *machine) cpuFlags() ([]string, error) {
	text, err := m.text("proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	flags, _ := field(text, "flags") // arm64 has "Features", and none that is looked for
	return strings.Fields(flags), nil
}
