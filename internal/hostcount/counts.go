package hostcount

import (
	"bytes"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

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
	self, err := p.self()
	if err != nil {
		return Counts{}, err
	}
	if self.Created != p.created {
		return Counts{}, fmt.Errorf("%w: another one has PID %d", ErrProcess, p.pid)
	}
	c := Counts{MajorFaults: self.MajorFaults}
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
		p.stole = time.Duration(min(ticks, 1<<62/uint64(proc.Tick))) * proc.Tick
	}
	return p.stole
}
