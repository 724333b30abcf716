package kernel

import (
	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// cpu is the history of one CPU.
type cpu struct {
	history
	points map[uint64]point // by Record.Event
	// switches is the event of sched_switch, whose fields next_comm, next_pid,
	// next_prio, prev_prio and prev_state are at comm, pid, prio, prevPrio and state;
	// 0 if there is no such priority or state.
	switches                         uint64
	comm, pid, prio, prevPrio, state int

	open   []opened // entries that have no exit yet, outermost first
	turns  []turn
	ticked stall.Instant // newest sign that interrupts are traced at all
	names  map[uint64]string
}

func (c *cpu) take(r *perf.Record) {
	switch r.Kind {
	case perf.Loss:
		c.lose(c.last, r.At)
		c.open = c.open[:0]
	case perf.Sample:
		p, ok := c.points[r.Event]
		switch {
		case ok:
			c.hit(&p, r)
		case r.Event == c.switches:
			c.switched(r)
		}
	}
	c.last = max(c.last, r.At)
}

func (c *cpu) forget(t stall.Instant) {
	c.history.forget(t)
	n := 0
	for n+1 < len(c.turns) && c.turns[n+1].at < t {
		n++ // the last one before t still has the CPU at t
	}
	c.turns = append(c.turns[:0], c.turns[n:]...)
}
