package doctor

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/proc"
)

// targetChecks look at the process that is watched. Without one there is noTargetChecks.
var (
	targetChecks = []check{
		{"target.cpus", "proc/PID/status", targetAffinity},
		{"target.quota", "proc/PID/cgroup", targetQuota},
		{"target.threads", "proc/PID/task", targetThreads},
		{"target.go", "proc/PID/exe", targetGo},
		{"target.gomaxprocs", "proc/PID/environ", maxProcs},
	}
	noTargetChecks = []check{{"target", "", func(*machine, string) Check { return unknown("no --target") }}}
)

const onlineFile = "sys/devices/system/cpu/online"

// targetCPUs returns the CPUs that the target may use.
func (m *machine) targetCPUs() ([]int, error) { return proc.CPUs(m.root, strconv.Itoa(m.target)) }

func targetAffinity(m *machine, file string) Check {
	cpus, err := m.targetCPUs()
	status, _ := m.text(file)
	list, _ := field(status, "Cpus_allowed_list")
	switch {
	case err != nil:
		return unread(err)
	case m.spins() && m.on(cpus):
		return warn(fmt.Sprintf("%s, with the probe's CPU %d", list, m.cpu),
			"the spinner takes a CPU that the target counts on: taskset the target to the others, or use --mode periodic")
	}
	return ok(list)
}

// targetLimit returns the tightest quota that the target runs under.
func (m *machine) targetLimit() (cgroup.Quota, error) {
	target := strconv.Itoa(m.target)
	if _, err := cgroup.Own(m.root, target); errors.Is(err, cgroup.ErrUnseen) {
		return cgroup.Quota{}, err
	}
	groups, err := cgroup.Of(m.root, target)
	if err == nil && len(groups) == 0 {
		err = errors.New(noCPUController)
	}
	if err != nil {
		return cgroup.Quota{}, err
	}
	return cgroup.Tightest(m.root, groups)
}

func targetQuota(m *machine, _ string) Check {
	q, err := m.targetLimit()
	switch {
	case err != nil:
		return unread(err)
	case q.File == "":
		return ok("none")
	}
	return info(fmt.Sprintf("%.3g CPUs", q.CPUs), "when it is used up every thread stops for the rest of the period, in the middle of a pause too: host.throttled").in(q.File)
}

// targetThreads checks how the target's threads are scheduled. A runtime that stops its
// threads waits for each of them. While it spins at a higher priority than the thread that
// it waits for, that thread gets no CPU until the fair server runs it.
func targetThreads(m *machine, _ string) Check {
	all, first := 0, []string{}
	for i := range m.threads {
		t := &m.threads[i]
		if t.pid != m.target {
			continue
		}
		all++
		if realtime(&t.Stat) {
			first = append(first, fmt.Sprintf("%s (%d) %s %d", t.Name, t.ID, policyNames[t.Policy], t.Priority))
		}
	}
	switch {
	case all == 0:
		return unknown("no threads to be seen")
	case len(first) == 0:
		return ok(plural(all, "thread") + ", none real-time")
	}
	return warn(fmt.Sprintf("%d of %s: %s", len(first), plural(all, "thread"), few(first)),
		"real-time threads can invert against the suspension handshake: the collector waits for a thread that gets no CPU while they run; use SCHED_OTHER")
}

// targetGo reports the Go version and the settings that a Go target was started with.
func targetGo(m *machine, _ string) Check {
	p, err := m.process, m.processErr
	if err != nil {
		return unread(err)
	}
	if p.EnvErr != nil {
		return unknown(fmt.Sprintf("%s, but its environment: %s", p.Version, why(p.EnvErr)))
	}
	value := p.Version
	if p.Experiment != "" {
		value += " GOEXPERIMENT=" + fmt.Sprintf("%.60s", p.Experiment)
	}
	var set []string
	for _, name := range goprogram.Variables {
		if v, is := p.Env[name]; is {
			set = append(set, fmt.Sprintf("%s=%.60s", name, v))
		}
	}
	if len(set) > 0 {
		value += ", " + strings.Join(set, " ")
	}
	return info(value, "")
}

// maxProcs checks the target's GOMAXPROCS against its quota, and against the
// CPU that a spinner takes, of its CPUs or of its quota.
func maxProcs(m *machine, _ string) Check {
	p := m.process
	if m.processErr != nil || p.EnvErr != nil {
		return Check{} // target.go says so
	}
	cpus, err := m.targetCPUs()
	if err != nil || len(cpus) == 0 {
		return unknown("the CPUs of the target are not known")
	}
	// The runtime heeds the quota of its own cgroup, the kernel that of every one.
	own, ownErr := goprogram.Quota(m.FS, strconv.Itoa(m.target))
	q, err := m.targetLimit()
	if _, set := p.SetProcs(); !set && ownErr != nil && p.HeedsQuota() {
		return unknown("not set, and the quota that it follows from is not known: " + why(ownErr))
	}
	n := p.Procs(len(cpus), own)
	value := fmt.Sprintf("%d as started, %s", n, plural(len(cpus), "CPU"))
	if q.CPUs > 0 {
		value += fmt.Sprintf(", quota %.3g", q.CPUs)
	}
	shared := q.File != "" && m.spins() && slices.ContainsFunc(m.groups, func(g cgroup.Group) bool { return g.Dir == path.Dir(q.File) })
	room := math.Ceil(q.CPUs)
	if shared {
		room = max(1, math.Floor(q.CPUs-1))
	}
	left := len(cpus)
	if m.spins() && m.on(cpus) {
		left--
	}
	switch {
	case q.CPUs > 0 && float64(n) > room && shared:
		return warn(value, fmt.Sprintf("the spinner uses up one CPU of that quota, and the workers of a collection the rest before the period is over: use --mode periodic, run the probe in a cgroup of its own, or set GOMAXPROCS=%.0f", room))
	case q.CPUs > 0 && float64(n) > room:
		return warn(value, fmt.Sprintf("the workers of a collection use the quota up at once and are throttled in the midst of it: set GOMAXPROCS=%.0f", room))
	case n > len(cpus):
		return warn(value, fmt.Sprintf("a P without a CPU holds up every stop of the world: set GOMAXPROCS=%d", max(left, 1)))
	case n > left:
		return warn(value, fmt.Sprintf("the spinner on CPU %d leaves %s for %d Ps: a P without a CPU holds up every stop of the world; set GOMAXPROCS=%d", m.cpu, plural(left, "CPU"), n, max(left, 1)))
	case err != nil:
		return info(value, "its quota is not known")
	}
	return ok(value)
}
