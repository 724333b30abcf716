package hostcount

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
)

// Threads calls f with the number of each thread of the process, at most limit
// of them, and returns how many there are, limit+1 standing for more.
func (p *Process) Threads(limit int, f func(tid string)) (int, error) {
	dir, err := p.root.Open(p.File("task"))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrProcess, err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	list, ok := dir.(fs.ReadDirFile)
	if !ok {
		return 0, fmt.Errorf("list threads of process %d: not a directory", p.pid)
	}
	entries, err := list.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("list threads of process %d: %w", p.pid, err)
	}
	for _, e := range entries[:min(len(entries), limit)] {
		f(e.Name())
	}
	return len(entries), nil
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
