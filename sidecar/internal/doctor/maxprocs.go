package doctor

import (
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/goprocess"
)

// maxProcs judges the target's GOMAXPROCS against its quota, and against the
// CPU that a spinner takes, of its CPUs or of its quota.
func (m *machine) maxProcs(p *goprocess.Process) Check {
	c := about("target.gomaxprocs", m.targetFile("environ"))
	cpus, _, err := m.allowedTo()
	if err != nil || len(cpus) == 0 {
		return c.none("the CPUs of the target are not known")
	}
	// The runtime heeds the quota of its own cgroup, the kernel that of every one.
	own, ownErr := goprocess.Quota(m.FS, m.target)
	q, err := m.targetLimit()
	if _, set := p.SetProcs(); !set && ownErr != nil && p.HeedsQuota() {
		return c.none("not set, and the quota that it follows from is not known: " + why(ownErr))
	}
	n := p.Procs(len(cpus), own)
	value := fmt.Sprintf("%d as started, %s", n, plural(len(cpus), "CPU"))
	if q.CPUs > 0 {
		value += fmt.Sprintf(", quota %.3g", q.CPUs)
	}
	room, shared := math.Ceil(q.CPUs), q.File != "" && m.spins() && m.under(q)
	if shared {
		room = max(1, math.Floor(q.CPUs-1))
	}
	left := len(cpus)
	if m.spins() && slices.Contains(cpus, m.cpu) {
		left--
	}
	switch {
	case q.CPUs > 0 && float64(n) > room && shared:
		return c.warn(value, fmt.Sprintf("the spinner uses up one CPU of that quota, and the workers of a collection the rest before the period is over: use --mode periodic, run the probe in a cgroup of its own, or set GOMAXPROCS=%.0f", room))
	case q.CPUs > 0 && float64(n) > room:
		return c.warn(value, fmt.Sprintf("the workers of a collection use the quota up at once and are throttled in the midst of it: set GOMAXPROCS=%.0f", room))
	case n > len(cpus):
		return c.warn(value, fmt.Sprintf("a P without a CPU holds up every stop of the world: set GOMAXPROCS=%d", max(left, 1)))
	case n > left:
		return c.warn(value, fmt.Sprintf("the spinner on CPU %d leaves %s for %d Ps: a P without a CPU holds up every stop of the world; set GOMAXPROCS=%d", m.cpu, plural(left, "CPU"), n, max(left, 1)))
	case err != nil:
		return c.info(value, "its quota is not known")
	}
	return c.ok(value)
}

// under reports whether this process is limited by q, too.
func (m *machine) under(q cgroup.Quota) bool {
	return slices.ContainsFunc(m.groups, func(g cgroup.Group) bool { return g.Dir == path.Dir(q.File) })
}
