package doctor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// noTarget is the one check there is of no target.
func (m *machine) noTarget() []Check {
	return []Check{about("target", "").none("no --target")}
}

// targetCPUs judges which CPUs the target has, and under which quota.
func (m *machine) targetCPUs() []Check {
	if m.target == 0 {
		return m.noTarget()
	}
	return []Check{m.targetAffinity(), m.targetQuota()}
}

// allowedTo returns the CPUs that the target may use: of its affinity those that
// are online. On a machine that more can be added to, the affinity has them already.
func (m *machine) allowedTo() ([]int, string, error) {
	status, err := m.text(m.targetFile("status"))
	if err != nil {
		return nil, "", err
	}
	list, _ := field(status, "Cpus_allowed_list")
	cpus, err := cpuList(list)
	if online, err := m.cpuListOf("sys/devices/system/cpu/online"); err == nil && len(online) > 0 {
		cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return !slices.Contains(online, cpu) })
	}
	return cpus, list, err
}

func (m *machine) targetAffinity() Check {
	c := about("target.cpus", m.targetFile("status"))
	cpus, list, err := m.allowedTo()
	switch {
	case err != nil:
		return c.unread(err)
	case len(cpus) == 0:
		return c.none("no Cpus_allowed_list")
	case m.spins() && slices.Contains(cpus, m.cpu):
		return c.warn(fmt.Sprintf("%s, with the probe's CPU %d", list, m.cpu),
			"the spinner takes a CPU that the target counts on: taskset the target to the others, or use --mode periodic")
	}
	return c.ok(list)
}

// targetLimit returns the tightest quota that the target runs under.
func (m *machine) targetLimit() (cgroup.Quota, error) {
	if _, err := cgroup.Own(m.root, fmt.Sprint(m.target)); errors.Is(err, cgroup.ErrUnseen) {
		return cgroup.Quota{}, err
	}
	groups, err := cgroup.Of(m.root, fmt.Sprint(m.target))
	if err != nil {
		return cgroup.Quota{}, err
	}
	if len(groups) == 0 {
		return cgroup.Quota{}, errNoGroup
	}
	return cgroup.Tightest(m.root, groups)
}

var errNoGroup = errors.New("no cgroup with the cpu controller to be seen")

func (m *machine) targetQuota() Check {
	c := about("target.quota", m.targetFile("cgroup"))
	q, err := m.targetLimit()
	switch {
	case err != nil:
		return c.unread(err)
	case q.File == "":
		return c.ok("none")
	}
	c.File = "/" + q.File
	return c.info(fmt.Sprintf("%.3g CPUs", q.CPUs), "when it is used up every thread stops for the rest of the period, in the middle of a pause too: host.throttled")
}

// targetThreads judges how the target's threads are scheduled. A runtime that
// stops its threads waits for each; one that spins with a higher priority than
// the one it waits for waits for ever, or for the fair server.
func (m *machine) targetThreads() []Check {
	if m.target == 0 {
		return nil
	}
	c := about("target.threads", m.targetFile("task"))
	all, first := 0, []string{}
	for i := range m.threads {
		t := &m.threads[i]
		if t.pid != m.target {
			continue
		}
		all++
		if t.realtime() {
			first = append(first, fmt.Sprintf("%s (%d) %s %d", t.name, t.tid, policyNames[t.policy], t.priority))
		}
	}
	switch {
	case all == 0:
		return []Check{c.none("no threads to be seen")}
	case len(first) == 0:
		return []Check{c.ok(plural(all, "thread") + ", none real-time")}
	}
	return []Check{c.warn(fmt.Sprintf("%d of %s: %s", len(first), plural(all, "thread"), few(first)),
		"real-time threads can invert against the suspension handshake: the collector waits for a thread that gets no CPU while they run; use SCHED_OTHER")}
}
