package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/jitterprobe"
)

// live asks the running kernel what no file shows.
type live struct {
	// perfThread and perfCPU return why this process may not follow the context switches
	// of a thread of its own, or of a CPU. Nil means that it may.
	perfThread func() error
	perfCPU    func(cpu int) error
	// loadBPF returns why this process may not load BPF programs that follow the scheduler.
	loadBPF func() error
	// probeGo returns why this process may not probe Go programs.
	probeGo  func() error
	selfTest func(o jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error)
	// limits returns what a probe cannot decide here.
	limits func(jitterprobe.Options) ([]jitterprobe.Limit, error)
}

// machine is what the checks share.
type machine struct {
	root
	live
	arch    string
	mode    jitterprobe.Mode // Spin, Runtime or Periodic
	allowed []int            // CPUs that this process may use
	cpu     int              // of the probe, -1 if it is not known
	status  string           // /proc/self/status
	target  int              // PID, 0 if there is none
	threads []thread
	partial bool // the machine has more than maxThreads threads

	groups []cgroup.Group // this process's
	config kernelConfig
	before counters // of the self-test, and after it
	after  counters
	trial  *jitterprobe.Trial  // nil without a self-test
	limits []jitterprobe.Limit // of the probe

	process    *goprogram.Program // the target, if it is a Go program
	processErr error
}

// counters are read before and after the self-test.
type counters struct {
	cpu      cpuTime // of the probe's CPU; cpuErr if it could not be read
	cpuErr   error
	core     cpuTime // of its siblings; zero if it could not be read
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
		m.allowed, _ = proc.ParseCPUs(text)
	}
	switch {
	case o.CPU != nil:
		m.cpu = *o.CPU
	case len(m.allowed) > 0:
		m.cpu = m.allowed[len(m.allowed)-1]
	}
	if o.Probe != nil {
		m.limits = o.Probe.Limits()
		// jitterprobe.Reserve may have kept the rest of this process off that CPU.
		if m.cpu >= 0 && !m.on(m.allowed) {
			m.allowed = append(m.allowed, m.cpu)
		}
	}
	if m.target != 0 {
		if _, err := r.text(m.targetFile("stat")); err != nil {
			return nil, fmt.Errorf("%w %d: /%s: %s", ErrTarget, m.target, m.targetFile("stat"), why(err))
		}
		m.process, m.processErr = goprogram.Read(r, m.target)
	}
	m.groups, _ = cgroup.Of(r, "self") // quota says so
	if o.TargetOnly {
		m.threads = r.threadsOf(nil, m.target)
		return m, nil
	}
	m.threads, m.partial = r.allThreads(m.target)
	m.config = m.readKernelConfig()
	return m, nil
}

// on reports whether the probe's CPU is one of cpus.
func (m *machine) on(cpus []int) bool { return slices.Contains(cpus, m.cpu) }

// spins reports whether the mode takes a whole CPU.
func (m *machine) spins() bool { return m.mode != jitterprobe.Periodic }

func (m *machine) targetFile(name string) string {
	return "proc/" + strconv.Itoa(m.target) + "/" + name
}

// count reads the counters.
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

// maxThreads bounds how many threads the doctor reads.
const maxThreads = 1 << 14

// Scheduling policies (sched(7)), as /proc/PID/stat names them.
const (
	schedFIFO     = 1
	schedRR       = 2
	schedDeadline = 6
)

var policyNames = map[int]string{0: "OTHER", schedFIFO: "FIFO", schedRR: "RR", 3: "BATCH", 5: "IDLE", schedDeadline: "DEADLINE", 7: "EXT"}

// thread is a thread of a process.
type thread struct {
	proc.Stat
	pid int
}

// realtime reports whether the scheduler runs t before every ordinary thread.
func realtime(t *proc.Stat) bool {
	return t.Policy == schedFIFO || t.Policy == schedRR || t.Policy == schedDeadline
}

// allThreads returns the threads of the machine, and whether it stopped at maxThreads.
// The threads of process first come first. Threads that end meanwhile are missing.
func (r root) allThreads(first int) (all []thread, partial bool) {
	names, err := r.list("proc")
	if err != nil {
		return nil, false // without /proc every check says so
	}
	if first != 0 {
		all = r.threadsOf(all, first)
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == first {
			continue
		}
		if len(all) >= maxThreads {
			return all, true
		}
		all = r.threadsOf(all, pid)
	}
	return all, false
}

func (r root) threadsOf(all []thread, pid int) []thread {
	dir := "proc/" + strconv.Itoa(pid) + "/task"
	tids, err := r.list(dir)
	if err != nil {
		return all
	}
	for _, name := range tids {
		text, err := r.text(dir + "/" + name + "/stat")
		if err != nil || len(all) >= maxThreads {
			continue
		}
		if t, err := proc.ParseStat([]byte(text)); err == nil {
			all = append(all, thread{t, pid})
		}
	}
	return all
}

// self returns the thread of this process that proc/self/stat is about.
func (r root) self() (proc.Stat, error) { return proc.ReadStat(r, "self") }
