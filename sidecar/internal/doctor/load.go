package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// load judges who else wants the CPUs now.
func (m *machine) load() []Check {
	return []Check{m.average(), m.pressure(), m.competitors()}
}

func (m *machine) average() Check {
	const file = "proc/loadavg"
	c := about("load", file)
	text, err := m.text(file)
	if err != nil {
		return c.unread(err)
	}
	f := strings.Fields(text)
	if len(f) < 4 {
		return c.none(fmt.Sprintf("holds %.20q", text))
	}
	n, err := strconv.ParseFloat(f[0], 64)
	// The load is the machine's, whichever CPUs this process may use.
	online, _ := m.cpuListOf("sys/devices/system/cpu/online")
	cpus := len(online)
	switch {
	case err != nil:
		return c.none(fmt.Sprintf("holds %.20q", text))
	case cpus > 0 && n > float64(cpus):
		return c.warn(fmt.Sprintf("%s in the last minute, %s", f[0], plural(cpus, "CPU")), "more work than CPUs: threads wait for each other, and so does the probe")
	}
	return c.ok(f[0] + " in the last minute")
}

// pressure reads how long work waited for a CPU
// (Documentation/accounting/psi.rst).
func (m *machine) pressure() Check {
	const file = "proc/pressure/cpu"
	c := about("psi", file)
	text, err := m.text(file)
	if err != nil {
		return c.unread(err)
	}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "some avg10=")
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, " ")
		share, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return c.none(fmt.Sprintf("holds %.20q, not a number", text))
		case share >= 10:
			return c.warn(text+" % of the last 10 s", "somebody was always waiting for a CPU: this machine is too small for what runs on it")
		case share >= 1:
			return c.info(text+" % of the last 10 s", "threads waited for a CPU: expect host.preempted")
		}
		return c.ok(text + " % of the last 10 s")
	}
	return c.none("no line of averages")
}

// competitors names who is runnable on the probe's CPU at this moment.
func (m *machine) competitors() Check {
	c := about("competitors", "proc")
	if len(m.threads) == 0 {
		return c.none("no threads to be seen")
	}
	names := m.runnable([]int{m.cpu})
	note := ""
	if m.partial {
		note = fmt.Sprintf(" among the first %d threads", maxThreads)
	}
	if len(names) == 0 {
		return c.ok("nobody" + note)
	}
	return c.warn(few(names)+note, fmt.Sprintf("runnable on CPU %d: the probe shares it; choose another --cpu, or move them", m.cpu))
}

// runnable names who runs on the CPUs at this moment, or could, but this process.
func (m *machine) runnable(cpus []int) []string {
	self := 0
	if text, err := m.text("proc/self/stat"); err == nil {
		pid, _, _ := strings.Cut(text, " ")
		self, _ = strconv.Atoi(pid) // 0 is nobody
	}
	var names []string
	for _, t := range m.threads {
		if t.state == "R" && slices.Contains(cpus, t.cpu) && t.pid != self {
			names = append(names, fmt.Sprintf("%s (%d)", t.name, t.pid))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
