package hostcount

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// ErrProcess says that the process is not there, or that it has ended.
var ErrProcess = errors.New("no such process")

// Process reads what is counted of one process. It is for one goroutine.
type Process struct {
	root      fs.FS
	pid       int
	created   uint64 // field 22 of its stat
	stat      file
	machine   file
	pressed   pressed  // of the machine
	grouped   *pressed // of its own cgroup; nil where that is not known
	cgroups   *cgroup.Watch
	unseen    bool // they are not to be seen from here
	freezers  []freezer
	throttle  []cgroup.Throttle
	stole     time.Duration // as it was read last
	schedstat [64]byte      // scratch
}

// Open finds the process of a number. The error is [ErrProcess] if there is
// none.
func Open(root fs.FS, pid int) (*Process, error) {
	p := &Process{root: root, pid: pid}
	p.stat = file{root: root, name: p.File("stat")}
	p.machine = file{root: root, name: "proc/stat", first: true}
	p.pressed = pressedOf(root, "proc/pressure/", "")
	self, err := p.self()
	if err != nil {
		p.Close()
		return nil, err
	}
	p.created = self.Created
	_, unseen := cgroup.Own(root, strconv.Itoa(pid))
	groups, err := cgroup.Of(root, strconv.Itoa(pid))
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("find cgroup of process %d: %w", pid, err)
	}
	p.cgroups, p.unseen = cgroup.NewWatch(root, groups), errors.Is(unseen, cgroup.ErrUnseen)
	p.grouped = groupPressed(root, strconv.Itoa(pid))
	p.freezers = freezersOf(root, strconv.Itoa(pid))
	return p, nil
}

// Close closes the files.
func (p *Process) Close() {
	p.stat.close()
	p.machine.close()
	p.pressed.close()
	if p.grouped != nil {
		p.grouped.close()
	}
	for i := range p.freezers {
		p.freezers[i].file.close()
	}
}

// Owner names the process in intervals.
func (p *Process) Owner() stall.Owner { return stall.Owner{PID: int32(p.pid), Created: p.created} }

// Root returns the root of the file system that the process is read from.
func (p *Process) Root() fs.FS { return p.root }

// Freezable reports whether the kernel says of a cgroup of the process whether a freezer
// holds it. It says so of now alone, not since when.
func (p *Process) Freezable() bool { return len(p.freezers) > 0 }

// File returns the path of a file of the process.
func (p *Process) File(name string) string { return path.Join("proc", strconv.Itoa(p.pid), name) }

// self returns its stat.
func (p *Process) self() (proc.Stat, error) {
	text, err := p.stat.read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return proc.Stat{}, fmt.Errorf("%w: read /%s", ErrProcess, p.stat.name)
	}
	if err != nil {
		return proc.Stat{}, err
	}
	s, err := proc.ParseStat(text)
	switch {
	case err != nil:
		return s, fmt.Errorf("read /%s: %w", p.stat.name, err)
	case s.Ended():
		return s, fmt.Errorf("%w: it has ended, and waits for its parent: read /%s", ErrProcess, p.stat.name)
	}
	return s, nil
}

// Threads calls f with the number of each thread of the process, at most limit
// of them, and returns how many there are, limit+1 standing for more.
func (p *Process) Threads(limit int, f func(tid string)) (int, error) {
	tids, all, err := proc.List(p.root, p.File("task"), limit)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrProcess, err)
	}
	for _, tid := range tids {
		f(tid)
	}
	if !all {
		return limit + 1, nil
	}
	return len(tids), nil
}

// runDelay sums run_delay, the second number of schedstat
// (Documentation/scheduler/sched-stats.rst), over the threads that there are, at
// most limit of them. One that has ended takes its delay with it.
func (p *Process) runDelay(limit int) (sum time.Duration, threads int, err error) {
	threads, err = p.Threads(limit, func(tid string) {
		_, delay, err := p.Schedstat(tid)
		if err == nil {
			sum += delay
		}
	})
	return sum, threads, err
}

// State returns the state of a thread as in its stat, such as R.
func (p *Process) State(tid string) (string, error) {
	one := file{root: p.root, name: p.File("task/" + tid + "/stat")}
	defer one.close()
	text, err := one.read()
	if err != nil {
		return "", err
	}
	s, err := proc.ParseStat(text)
	return s.State, err
}

// Schedstat returns how long a thread has run and has been ready without a CPU.
func (p *Process) Schedstat(tid string) (ran, delay time.Duration, err error) {
	one := file{root: p.root, name: p.File("task/" + tid + "/schedstat"), text: p.schedstat[:]}
	defer one.close()
	text, err := one.read()
	if err != nil {
		return 0, 0, err
	}
	a, ok1 := number(field(text, 0))
	b, ok2 := number(field(text, 1))
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("read /%s: %q", one.name, text)
	}
	return time.Duration(a), time.Duration(b), nil
}

// Totals are what the machine did to the threads of a process since a watch began. Package
// hostwatch describes how it separates the times.
type Totals struct {
	// RunDelay is how long the threads were ready and did not run, summed over
	// them: run_delay of /proc/PID/task/TID/schedstat, or the same from the
	// scheduler.
	RunDelay    time.Duration `json:"run_delay"`
	Denied      time.Duration `json:"denied"`       // a thread was ready, and none ran
	Paged       time.Duration `json:"paged"`        // one waited for a page, and none ran or was ready
	Mixed       time.Duration `json:"undecided"`    // one was ready while others ran
	Covered     time.Duration `json:"covered"`      // denied, paged, or left alone
	MajorFaults uint64        `json:"major_faults"` // were served from disk
	// Throttled is throttled_time of the process's cgroup and its ancestors,
	// summed over CPUs, where they can be seen from here.
	Throttled gc.Maybe[time.Duration] `json:"throttled,omitzero"`
	// Stolen is what the hypervisor admits to have taken of all CPUs, in
	// steps of 10 ms.
	Stolen time.Duration `json:"stolen"`
	MachinePressure
	// GroupPressure is that of the process's own cgroup, where cgroup v2 has it.
	GroupPressure gc.Maybe[Pressure] `json:"cgroup_pressure,omitzero"`
	Dropped       uint64             `json:"dropped"` // events of the scheduler that were not seen
	Events        uint64             `json:"-"`       // that were
	Threads       int                `json:"-"`       // there are now
}

// MachinePressure is the [Pressure] of the machine, with names of its own in JSON.
type MachinePressure struct {
	CPU    time.Duration `json:"pressure"`
	Memory time.Duration `json:"pressure_memory"`
	IO     time.Duration `json:"pressure_io"`
}

// Times returns all lengths of time that are always known.
func (t *Totals) Times() []*time.Duration {
	return []*time.Duration{&t.RunDelay, &t.Denied, &t.Paged, &t.Mixed, &t.Covered, &t.Stolen, &t.CPU, &t.Memory, &t.IO}
}

// Since returns what was added to q up to t.
func (t Totals) Since(q Totals) Totals {
	before := q.Times()
	for i, d := range t.Times() {
		*d = max(0, *d-*before[i])
	}
	t.MajorFaults -= min(q.MajorFaults, t.MajorFaults)
	t.Dropped -= min(q.Dropped, t.Dropped)
	t.Throttled = Since(t.Throttled, q.Throttled)
	if p, known := t.GroupPressure.Get(); known {
		t.GroupPressure = gc.Known(p.Since(q.GroupPressure.Or(Pressure{})))
	}
	return t
}

// Online returns how many CPUs the machine has on line, whichever of them the
// process may use: its cgroups may hold others. It is 0 where that is not known
// (Documentation/admin-guide/cputopology.rst).
func (p *Process) Online() (n int) {
	one := file{root: p.root, name: "sys/devices/system/cpu/online"}
	defer one.close()
	text, err := one.read()
	if err != nil {
		return 0
	}
	const most = 1 << 16 // CPUs
	for part := range bytes.SplitSeq(bytes.TrimSpace(text), []byte(",")) {
		low, high, is := bytes.Cut(part, []byte("-"))
		if !is {
			high = low
		}
		from, ok1 := number(low)
		to, ok2 := number(high)
		if !ok1 || !ok2 || to < from || to >= most || n >= most {
			return 0
		}
		n += int(to-from) + 1
	}
	return n
}
