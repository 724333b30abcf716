package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// loadChecks look at the programs that compete for the CPUs now.
var loadChecks = []check{
	{"load", "proc/loadavg", read(root.text, loadAverage)},
	{"psi", "proc/pressure/cpu", read(root.text, pressure)},
	{"competitors", "proc", competitors},
}

func loadAverage(m *machine, text string) Check {
	f := strings.Fields(text)
	if len(f) < 4 {
		return unknown(fmt.Sprintf("holds %.20q", text))
	}
	n, err := strconv.ParseFloat(f[0], 64)
	// The load is the machine's, whichever CPUs this process may use.
	online, _ := m.cpuList(onlineFile)
	cpus := len(online)
	switch {
	case err != nil:
		return unknown(fmt.Sprintf("holds %.20q", text))
	case cpus > 0 && n > float64(cpus):
		return warn(fmt.Sprintf("%s in the last minute, %s", f[0], plural(cpus, "CPU")), "more work than CPUs: threads wait for each other, and so does the probe")
	}
	return ok(f[0] + " in the last minute")
}

// pressure checks how long work waited for a CPU
// (Documentation/accounting/psi.rst).
func pressure(_ *machine, text string) Check {
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, "some avg10=")
		if !is {
			continue
		}
		text, _, _ := strings.Cut(rest, " ")
		share, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return unknown(fmt.Sprintf("holds %.20q, not a number", text))
		case share >= 10:
			return warn(text+" % of the last 10 s", "somebody was always waiting for a CPU: this machine is too small for what runs on it")
		case share >= 1:
			return info(text+" % of the last 10 s", "threads waited for a CPU: expect host.preempted")
		}
		return ok(text + " % of the last 10 s")
	}
	return unknown("no line of averages")
}

// competitors checks what is runnable on the probe's CPU at this moment.
func competitors(m *machine, _ string) Check {
	if len(m.threads) == 0 {
		return unknown("no threads to be seen")
	}
	names := m.runnable([]int{m.cpu})
	note := ""
	if m.partial {
		note = fmt.Sprintf(" among the first %d threads", maxThreads)
	}
	if len(names) == 0 {
		return ok("none" + note)
	}
	return warn(few(names)+note, fmt.Sprintf("runnable on CPU %d: the probe shares it; choose another --cpu, or move them", m.cpu))
}

// runnable returns the other processes that run on the CPUs at this moment or wait for
// them.
func (m *machine) runnable(cpus []int) []string {
	self, _ := m.self() // 0 is no process
	var names []string
	for _, t := range m.threads {
		if t.State == "R" && slices.Contains(cpus, t.LastCPU) && t.pid != self.ID {
			names = append(names, fmt.Sprintf("%s (%d)", t.Name, t.pid))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
