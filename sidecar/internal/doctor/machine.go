package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/jitterprobe"
)

// live is what is asked of the running kernel, and no file tells.
type live struct {
	// perfThread and perfCPU report whether context switches may be followed,
	// of a thread of this process and of all that runs on a CPU.
	perfThread func() error
	perfCPU    func(cpu int) error
	// loadBPF reports whether programs may be loaded that follow the scheduler.
	loadBPF  func() error
	selfTest func(o jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error)
	// limits says what a probe cannot decide here.
	limits func(jitterprobe.Options) ([]jitterprobe.Limit, error)
}

// machine is what the checks share.
type machine struct {
	root
	live
	arch    string
	mode    jitterprobe.Mode // Spin, Runtime or Periodic
	allowed []int            // CPUs that this process may use
	cpu     int              // of the probe, -1 if it cannot be told
	status  string           // /proc/self/status
	target  int              // PID, 0 if there is none
	threads []thread
	partial bool // there are more threads than were looked at

	groups []cgroup.Group // this process's
	before counters
	after  counters
	tested bool                // time went by between them
	limits []jitterprobe.Limit // of the probe
	asked  bool                // the probe has said them
}

// counters are what is read before and after the self-test.
type counters struct {
	cpu      cpuTime // of the probe's CPU; cpuErr if it could not be read
	cpuErr   error
	core     cpuTime // of its siblings
	throttle []cgroup.Throttle
	smi      uint64
	smiErr   error
}

func newMachine(r root, arch string, live live, o Options) (*machine, error) {
	m := &machine{root: r, live: live, arch: arch, mode: o.Mode, cpu: -1, target: o.Target}
	if m.mode == jitterprobe.Auto {
		m.mode = jitterprobe.Spin
	}
	m.status, _ = r.text("proc/self/status") // the checks that need it say that it is missing
	if text, ok := field(m.status, "Cpus_allowed_list"); ok {
		m.allowed, _ = cpuList(text)
	}
	switch {
	case o.CPU != nil:
		m.cpu = *o.CPU
	case len(m.allowed) > 0:
		m.cpu = m.allowed[len(m.allowed)-1]
	}
	if o.Probe != nil {
		m.learn(o.Probe.Limits())
		// The rest of this process may have made way for it.
		if m.cpu >= 0 && !slices.Contains(m.allowed, m.cpu) {
			m.allowed = append(m.allowed, m.cpu)
		}
	}
	if m.target != 0 {
		if _, err := r.text(m.targetFile("stat")); err != nil {
			return nil, fmt.Errorf("%w %d: /%s: %s", ErrTarget, m.target, m.targetFile("stat"), why(err))
		}
	}
	m.groups, _ = cgroup.Of(r, "self") // quota says so
	if o.TargetOnly {
		m.threads = r.threadsOf(nil, m.target)
		return m, nil
	}
	m.threads, m.partial = r.allThreads(m.target)
	return m, nil
}

// spins reports whether the mode takes a whole CPU.
func (m *machine) spins() bool { return m.mode != jitterprobe.Periodic }

// cpuFile returns a file of the probe's CPU in sysfs.
func (m *machine) cpuFile(name string) string {
	return "sys/devices/system/cpu/cpu" + strconv.Itoa(m.cpu) + "/" + name
}

func (m *machine) targetFile(name string) string {
	return "proc/" + strconv.Itoa(m.target) + "/" + name
}

// isolated reports whether the scheduler keeps others off the probe's CPU.
func (m *machine) isolated() bool { return slices.Contains(m.isolatedCPUs(), m.cpu) }

// begin reads the counters before the self-test, end after it.
func (m *machine) begin() { m.before = m.count() }

func (m *machine) end() { m.after = m.count() }

func (m *machine) count() counters {
	var c counters
	var own []int
	if m.cpu >= 0 {
		own = []int{m.cpu}
	}
	c.cpu, c.cpuErr = m.cpuTimes(own...)
	if cpus, err := m.siblingCPUs(); err == nil && len(cpus) > 0 {
		c.core, _ = m.cpuTimes(cpus...) // not known then
	}
	for _, g := range m.groups {
		if t, ok := g.Throttle(m.root); ok {
			c.throttle = append(c.throttle, t)
		}
	}
	c.smi, c.smiErr = m.smiCount()
	return c
}
