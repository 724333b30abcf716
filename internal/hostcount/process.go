package hostcount

import (
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
