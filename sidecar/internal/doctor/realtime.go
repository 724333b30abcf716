package doctor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// realtime judges how this process is scheduled. A spinner in a real-time
// class is a trap: the kernel takes the CPU away to let others live.
func (m *machine) realtime() []Check {
	c := about("rt.policy", "proc/self/stat")
	text, err := m.text("proc/self/stat")
	if err != nil {
		return []Check{c.unread(err), m.rtPriority(), m.rtLimit(), m.rtGroup(false), m.fairServer()}
	}
	self, err := parseStat(text)
	name := policyNames[self.policy]
	switch {
	case err != nil:
		c = c.unread(err)
	case !self.realtime():
		c = c.ok("SCHED_" + name)
	case m.isolated():
		c = c.info(fmt.Sprintf("SCHED_%s %d on an isolated CPU", name, self.priority), "")
	default:
		c = c.warn(fmt.Sprintf("SCHED_%s %d on a shared CPU", name, self.priority),
			"expect a gap of about 50 ms in each second, when the fair server lets others run: use SCHED_OTHER, or isolate the CPU")
	}
	return []Check{c, m.rtPriority(), m.rtLimit(), m.rtGroup(self.realtime()), m.fairServer()}
}

// rtLimit tells how much of a period real-time threads may take.
func (m *machine) rtLimit() Check {
	const file = "proc/sys/kernel/sched_rt_runtime_us"
	c := about("rt.limit", file)
	runtime, err := m.number(file)
	if err != nil {
		return c.unread(err)
	}
	period, err := m.number("proc/sys/kernel/sched_rt_period_us")
	if err != nil || period <= 0 {
		return c.none("no sched_rt_period_us")
	}
	if runtime < 0 {
		return c.info("none", "a real-time thread that spins can take a CPU for ever")
	}
	return c.info(fmt.Sprintf("%d of %d us", runtime, period), "")
}

// rtGroup tells whether a cgroup gives its real-time threads another part of a
// period than the machine does: with CONFIG_RT_GROUP_SCHED each v1 cgroup has
// files of its own (Documentation/scheduler/sched-rt-group.rst), and one takes
// the CPU away from its threads by those.
func (m *machine) rtGroup(realtime bool) Check {
	c := about("rt.cgroup", "proc/self/cgroup")
	switch {
	case len(m.groups) == 0:
		return c.none("no cgroup with the cpu controller to be seen")
	case m.groups[0].V2:
		return c.ok("cgroup v2 has no limit of its own")
	}
	for i, g := range m.groups {
		file := g.Dir + "/cpu.rt_runtime_us"
		runtime, err := m.number(file)
		if i == 0 && err != nil { // its ancestors have none either
			return about("rt.cgroup", file).unread(err)
		}
		period, periodErr := m.number(g.Dir + "/cpu.rt_period_us")
		all, allErr := m.number("proc/sys/kernel/sched_rt_runtime_us")
		each, eachErr := m.number("proc/sys/kernel/sched_rt_period_us")
		c = about("rt.cgroup", file)
		if err := errors.Join(err, periodErr, allErr, eachErr); err != nil {
			return c.unread(err)
		}
		switch {
		case runtime == 0:
			return c.info("none", "no thread of this cgroup may have real-time priority")
		case runtime == all && period == each:
		case realtime:
			return c.warn(fmt.Sprintf("%d of %d us, where the machine's limit is %d of %d us", runtime, period, all, each),
				"gaps that come of it are not told as host.throttled, which holds them against the machine's limit: use SCHED_OTHER, or set both alike")
		default:
			return c.info(fmt.Sprintf("%d of %d us, where the machine's limit is %d of %d us", runtime, period, all, each), "")
		}
	}
	return c.ok("as the machine's limit")
}

// rtPriority tells whether this process could ask for real-time priority.
func (m *machine) rtPriority() Check {
	const file = "proc/self/limits"
	c := about("rt.priority", file)
	text, err := m.text(file)
	if err != nil {
		return c.unread(err)
	}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "Max realtime priority")
		if f := strings.Fields(rest); ok && len(f) >= 2 {
			return c.info("at most "+f[0], "")
		}
	}
	return c.none("no line of the real-time priority")
}

// fairServer tells what the kernel keeps for ordinary threads of a CPU that a
// real-time one spins on, since Linux 6.12.
func (m *machine) fairServer() Check {
	dir := "sys/kernel/debug/sched/fair_server/cpu" + strconv.Itoa(max(m.cpu, 0))
	c := about("rt.fairserver", dir+"/runtime")
	runtime, err := m.number(dir + "/runtime")
	if err != nil {
		return c.unread(err)
	}
	period, err := m.number(dir + "/period")
	switch {
	case err != nil || period <= 0 || runtime < 0:
		return c.none("no period")
	case runtime == 0:
		return c.info("off", "a real-time thread that spins starves the kernel's own threads of the CPU")
	}
	return c.info(fmt.Sprintf("%v of %v", time.Duration(runtime), time.Duration(period)), "")
}
