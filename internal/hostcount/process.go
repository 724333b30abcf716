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
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// ErrProcess says that the process is not there, or that it has ended.
var ErrProcess = errors.New("no such process")

// tick is the unit of /proc/PID/stat and /proc/stat, USER_HZ.
const tick = 10 * time.Millisecond

// Process reads what is counted of one process. It is for one goroutine.
type Process struct {
	root      fs.FS
	pid       int
	created   uint64 // field 22 of its stat
	stat      file
	machine   file
	pressed   pressed  // of the machine
	grouped   *pressed // of its own cgroup; nil where that is not told
	cgroups   *cgroup.Watch
	unseen    bool // they are not to be seen from here
	freezers  []freezer
	throttle  []cgroup.Throttle
	stole     time.Duration // as it was read last
	schedstat [64]byte      // scratch
}

// Counts are what is counted up to a moment.
type Counts struct {
	// MajorFaults were served from disk (proc_pid_stat(5), field 12).
	MajorFaults uint64
	// Throttled is throttled_time of the process's cgroup and its ancestors,
	// summed over CPUs. It is not known where they cannot be seen from here.
	Throttled gc.Maybe[time.Duration]
	// Throttlings is nr_throttled of the same: how often that began.
	Throttlings uint64
	// Stolen is what the hypervisor admits to have taken of all CPUs
	// (proc_stat(5), the eighth number), in steps of 10 ms.
	Stolen time.Duration
	// Frozen says that a freezer holds the process's cgroup now.
	Frozen bool
}

// Open finds the process of a number. The error is [ErrProcess] if there is
// none.
func Open(root fs.FS, pid int) (*Process, error) {
	p := &Process{root: root, pid: pid}
	p.stat = file{root: root, name: p.File("stat")}
	p.machine = file{root: root, name: "proc/stat", first: true}
	p.pressed = pressedOf(root, "proc/pressure/", "")
	rest, err := p.rest()
	if err != nil {
		p.Close()
		return nil, err
	}
	p.created, _ = number(field(rest, 22-3)) // rest knows that it is there
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

// Freezable reports whether it is told of a cgroup of the process whether a freezer
// holds it. It is told of now alone, not of since when.
func (p *Process) Freezable() bool { return len(p.freezers) > 0 }

// File returns the path of a file of the process.
func (p *Process) File(name string) string { return path.Join("proc", strconv.Itoa(p.pid), name) }

// rest returns its stat from the third field on: the second, the name, may hold
// anything.
func (p *Process) rest() ([]byte, error) {
	text, err := p.stat.read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("%w: read /%s", ErrProcess, p.stat.name)
	}
	if err != nil {
		return nil, err
	}
	rest := text[bytes.LastIndexByte(text, ')')+1:]
	if over(rest) {
		return nil, fmt.Errorf("%w: it has ended, and waits for its parent: read /%s", ErrProcess, p.stat.name)
	}
	if _, ok := number(field(rest, 22-3)); !ok {
		return nil, fmt.Errorf("read /%s: no creation time in field 22", p.stat.name)
	}
	return rest, nil
}

// over reports whether no thread of a process is left, by its stat from the third
// field on. Where only the first has ended, the state is the same, and there are
// others (field 20).
func over(rest []byte) bool {
	switch string(field(rest, 0)) {
	case "X":
		return true
	case "Z":
		threads, _ := number(field(rest, 20-3))
		return threads <= 1
	}
	return false
}

// Read reads the counters, and with limit the run delay of the process if it has
// no more threads than that. The error is [ErrProcess] when the process has
// ended, or another has its number.
func (p *Process) Read(now func() stall.Instant, limit int) (r Reading, err error) {
	r.Start = now()
	if r.Counts, err = p.counts(); err != nil {
		return r, err
	}
	if limit > 0 {
		delay, threads, err := p.runDelay(limit)
		if err != nil {
			return r, err
		}
		if r.Threads = threads; threads <= limit {
			r.RunDelay = gc.Known(delay)
		}
	}
	r.End = now()
	return r, nil
}

func (p *Process) counts() (Counts, error) {
	rest, err := p.rest()
	if err != nil {
		return Counts{}, err
	}
	if created, _ := number(field(rest, 22-3)); created != p.created {
		return Counts{}, fmt.Errorf("%w: another one has PID %d", ErrProcess, p.pid)
	}
	var c Counts
	faults, ok := number(field(rest, 12-3))
	if !ok {
		return Counts{}, fmt.Errorf("read /%s: no major faults in field 12", p.stat.name)
	}
	c.MajorFaults = faults
	p.throttle = p.cgroups.Read(p.throttle[:0])
	if !p.unseen {
		var sum time.Duration
		for _, t := range p.throttle {
			sum += t.Time
			c.Throttlings += t.Count
		}
		c.Throttled = gc.Known(sum)
	}
	c.Stolen = p.stolen()
	for i := range p.freezers {
		c.Frozen = c.Frozen || p.freezers[i].freezes()
	}
	return c, nil
}

// stolen returns what the first line of /proc/stat says, 0 if it never did.
// What cannot be read for once is what it was.
func (p *Process) stolen() time.Duration {
	text, err := p.machine.read()
	if err != nil {
		return p.stole
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if ticks, ok := number(field(line, 8)); ok {
		p.stole = time.Duration(min(ticks, 1<<62/uint64(tick))) * tick
	}
	return p.stole
}
