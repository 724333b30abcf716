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

// maxReadings bounds what is remembered: minutes of an ordinary process.
const maxReadings = 1 << 11

// Reading is what was counted up to an instant of Span, in which it was read.
// RunDelay is not in every one: it is dear.
type Reading struct {
	stall.Span
	Counts
	RunDelay gc.Maybe[time.Duration]
	Threads  int // where RunDelay is known
}

// History remembers the readings of late. The zero History holds none.
type History struct{ readings []Reading }

// Add takes in the next reading, after the last.
func (h *History) Add(r Reading) {
	if len(h.readings) == maxReadings {
		h.readings = h.readings[:copy(h.readings, h.readings[maxReadings/4:])]
	}
	h.readings = append(h.readings, r)
}

// Last returns when the last reading was begun, 0 if there is none.
func (h *History) Last() stall.Instant {
	if len(h.readings) == 0 {
		return 0
	}
	return h.readings[len(h.readings)-1].Start
}

// During returns what was counted around s: between the last reading before it
// and the first after, and Over says how long that is. Nothing is known without
// both.
func (h *History) During(s stall.Span) (d gc.HostDuring) {
	each := func(*Reading) bool { return true }
	before, after := h.around(s, each)
	if before == nil || after == nil {
		return d
	}
	d.MajorFaults = gc.Known(after.MajorFaults - min(after.MajorFaults, before.MajorFaults))
	d.Throttled = Since(after.Throttled, before.Throttled)
	d.Stolen = gc.Known(max(0, after.Stolen-before.Stolen))
	over := after.End.Sub(before.Start)
	before, after = h.around(s, func(r *Reading) bool { return !r.RunDelay.IsZero() })
	if before != nil && after != nil {
		d.RunDelay = gc.Known(max(0, after.RunDelay.Or(0)-before.RunDelay.Or(0)))
		over = max(over, after.End.Sub(before.Start))
	}
	d.Over = gc.Known(over)
	return d
}

// Since returns what was added to a counter of time, if that is known of both.
func Since(now, before gc.Maybe[time.Duration]) gc.Maybe[time.Duration] {
	a, ok1 := now.Get()
	b, ok2 := before.Get()
	if !ok1 || !ok2 {
		return gc.Maybe[time.Duration]{}
	}
	return gc.Known(max(0, a-b))
}

// around returns the last reading before s and the first after it that has what
// is wanted, nil for none.
func (h *History) around(s stall.Span, has func(*Reading) bool) (before, after *Reading) {
	for i := len(h.readings) - 1; i >= 0; i-- {
		r := &h.readings[i]
		if !has(r) {
			continue
		}
		if r.End <= s.Start {
			return r, after
		}
		if r.Start >= s.End {
			after = r
		}
	}
	return nil, after
}
