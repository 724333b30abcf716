package doctor

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// quota judges the limits on CPU time of this process's cgroups. A spinner
// uses up a CPU of a quota, and what is throttled then is the service that
// shares it.
func (m *machine) quota() []Check {
	c := about("cgroup.quota", "proc/self/cgroup")
	groups, err := cgroup.Of(m.root, "self")
	if err != nil {
		return []Check{c.unread(err), m.throttled()}
	}
	if len(groups) == 0 {
		return []Check{c.none("no cgroup with the cpu controller to be seen"), m.throttled()}
	}
	q, err := cgroup.Tightest(m.root, groups)
	switch {
	case err != nil:
		c = c.fail(err.Error(), "a spinner must not run where nobody knows the quota: use --mode periodic")
		if !m.spins() {
			c.Status = Warn
		}
	case q.File == "":
		c = c.ok("none")
	case m.spins():
		c.File = "/" + q.File
		c = c.fail(fmt.Sprintf("%.3g CPUs", q.CPUs),
			"a spinner uses up one CPU of the quota and gets every service under it throttled: use --mode periodic, or run the probe in a cgroup without quota")
	default:
		c.File = "/" + q.File
		c = c.info(fmt.Sprintf("%.3g CPUs", q.CPUs), "the probe itself may be throttled: its gaps of that kind are host.throttled")
	}
	return []Check{c, m.throttled()}
}

// throttled judges how often the cgroups ran out of their quota.
func (m *machine) throttled() Check {
	file := ""
	if len(m.groups) > 0 {
		file = m.groups[0].Dir + "/cpu.stat"
	}
	c := about("cgroup.throttled", file)
	if len(m.after.throttle) == 0 || len(m.before.throttle) != len(m.after.throttle) {
		return c.none("no cpu.stat with nr_throttled")
	}
	var ever, now uint64
	var lasted time.Duration
	for i, t := range m.after.throttle {
		ever += t.Count
		now += t.Count - min(t.Count, m.before.throttle[i].Count)
		lasted += t.Time - min(t.Time, m.before.throttle[i].Time)
	}
	switch {
	case now > 0:
		return c.warn(fmt.Sprintf("%d times in the self-test, %v", now, lasted.Round(time.Millisecond)),
			"the quota is used up now: gaps of tens of milliseconds follow; raise it or do less")
	case ever > 0:
		return c.info(plural(int(min(ever, 1<<31)), "time")+" so far", "the quota was used up before: expect host.throttled")
	}
	return c.ok("never")
}
