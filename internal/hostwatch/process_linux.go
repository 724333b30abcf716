package hostwatch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/stall"
	"golang.org/x/sys/unix"
)

// maxProcFile bounds what is read of a file of /proc.
const maxProcFile = 1 << 18

// process reads what /proc and the cgroups count of one process.
type process struct {
	root    fs.FS
	pid     int
	created uint64 // field 22 of its stat
	groups  []cgroup.Group
}

// counters are what is cheap enough to read with every batch.
type counters struct {
	majorFaults uint64
	throttled   time.Duration
	steal       uint64 // clock ticks, of all CPUs
}

func openProcess(root fs.FS, pid int) (*process, error) {
	p := &process{root: root, pid: pid}
	f, err := p.stat()
	if err != nil {
		return nil, err
	}
	if p.created, err = strconv.ParseUint(f[19], 10, 64); err != nil {
		return nil, fmt.Errorf("read creation time of process %d: %w", pid, err)
	}
	p.groups, err = cgroup.Of(root, strconv.Itoa(pid))
	if err != nil {
		return nil, fmt.Errorf("find cgroup of process %d: %w", pid, err)
	}
	return p, nil
}

func (p *process) owner() stall.Owner { return stall.Owner{PID: int32(p.pid), Created: p.created} }

func (p *process) file(name string) string { return path.Join("proc", strconv.Itoa(p.pid), name) }

// stat returns the fields of /proc/PID/stat from the third on
// (proc_pid_stat(5)): the second, the name, may hold spaces.
func (p *process) stat() ([]string, error) { return statOf(p.root, p.file("stat")) }

func statOf(root fs.FS, file string) ([]string, error) {
	text, err := read(root, file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("%w: read /%s", ErrTarget, file)
	}
	if err != nil {
		return nil, err
	}
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return nil, fmt.Errorf("read /%s: fewer than 22 fields", file)
	}
	return f, nil
}

// count reads the counters. It is [ErrTarget] when the process has ended, or
// another has its number.
func (p *process) count() (counters, error) {
	f, err := p.stat()
	if err != nil {
		return counters{}, err
	}
	if f[19] != strconv.FormatUint(p.created, 10) {
		return counters{}, fmt.Errorf("%w: another one has PID %d", ErrTarget, p.pid)
	}
	var c counters
	if c.majorFaults, err = strconv.ParseUint(f[9], 10, 64); err != nil { // field 12
		return counters{}, fmt.Errorf("read major faults of process %d: %w", p.pid, err)
	}
	for _, g := range p.groups {
		if t, ok := g.Throttle(p.root); ok {
			c.throttled += t.Time
		}
	}
	c.steal = stealTicks(p.root)
	return c, nil
}

// stealTicks returns field 8 of the first line of /proc/stat, 0 if there is
// none.
func stealTicks(root fs.FS) uint64 {
	f, err := root.Open("proc/stat")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // read only
	var line [256]byte
	n, _ := f.Read(line[:]) // a short read has the first line all the same
	first, _, _ := strings.Cut(string(line[:n]), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[8], 10, 63) // 0: not known, and not counted
	return ticks
}

// threads calls f for each thread, at most limit of them, with its state as in
// /proc/PID/stat, and returns how many there were.
func (p *process) threads(limit int, f func(tid int32, state string)) (int, error) {
	dir, err := p.root.Open(p.file("task"))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	defer func() { _ = dir.Close() }() // read only
	list, ok := dir.(fs.ReadDirFile)
	if !ok {
		return 0, fmt.Errorf("list threads of process %d: not a directory", p.pid)
	}
	entries, err := list.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("list threads of process %d: %w", p.pid, err)
	}
	for _, e := range entries[:min(len(entries), limit)] {
		tid, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil {
			continue
		}
		if fields, err := statOf(p.root, p.file("task/"+e.Name()+"/stat")); err == nil {
			f(int32(tid), fields[0])
		}
	}
	return len(entries), nil
}

// runDelay sums run_delay, the second number of schedstat
// (Documentation/scheduler/sched-stats.rst), over the threads that there are.
func (p *process) runDelay(limit int) (sum time.Duration, threads int, err error) {
	threads, err = p.threads(limit, func(tid int32, _ string) {
		text, err := read(p.root, p.file(fmt.Sprintf("task/%d/schedstat", tid)))
		if err != nil {
			return // it has ended since
		}
		if f := strings.Fields(text); len(f) >= 2 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			sum += time.Duration(n)
		}
	})
	return sum, threads, err
}

// pressure returns the time in which some thread of the machine waited for a
// CPU (Documentation/accounting/psi.rst), 0 if the kernel does not say.
func pressure(root fs.FS) time.Duration {
	text, err := read(root, "proc/pressure/cpu")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(text, "\n")
	_, total, _ := strings.Cut(first, "total=")
	n, _ := strconv.ParseInt(total, 10, 64)
	return time.Duration(n) * time.Microsecond
}

func read(root fs.FS, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxProcFile))
	return string(text), err
}
