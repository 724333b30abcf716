package kernel

import (
	"encoding/binary"
	"fmt"
	"sort"
	"time"

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

// point is what a tracepoint means.
type point struct {
	vector uint32 // the same for entry and exit
	name   string
	exit   bool
	single bool // an entry of which no exit can be traced
	proof  bool // it comes all the time, if interrupts are traced
	field  int  // offset of the number of the interrupt or softirq, 0 for none
	soft   bool
}

type opened struct {
	vector uint32
	at     stall.Instant
	name   string
}

// maxOpen bounds how deep interrupts nest: hard, soft and NMI need three.
const maxOpen = 16

func (c *cpu) hit(p *point, r *perf.Record) {
	if p.proof {
		c.ticked = max(c.ticked, r.At)
	}
	switch {
	case p.exit:
		c.leave(p.vector, r.At)
	case p.single:
		c.add(span{Span: stall.Span{Start: r.At, End: r.At}, kind: interrupt, name: p.name})
	default:
		c.enter(opened{p.vector, r.At, c.name(p, r.Raw)})
	}
}

// enter opens an interrupt. None interrupts itself: if its vector is open, the
// exit was not traced, and all that is known is that it was there.
func (c *cpu) enter(o opened) {
	for i, q := range c.open {
		if q.vector == o.vector || i == maxOpen-1 {
			for _, m := range c.open[i:] {
				c.add(span{Span: stall.Span{Start: m.at, End: m.at}, kind: interrupt, name: m.name})
			}
			c.open = c.open[:i]
			break
		}
	}
	c.open = append(c.open, o)
}

// leave closes the innermost entry of a vector, and what is still open in it.
// Only the outermost is a span: it contains the others.
func (c *cpu) leave(vector uint32, at stall.Instant) {
	for i := len(c.open) - 1; i >= 0; i-- {
		if o := c.open[i]; o.vector == vector {
			c.open = c.open[:i]
			if i == 0 {
				c.add(span{Span: stall.Span{Start: o.at, End: at}, kind: interrupt, name: o.name})
			}
			return
		}
	}
}

// proofAge is how old the last tick may be: a CPU that is busy with a spinning
// thread has at least one a second.
const proofAge = 4 * time.Second

// complete reports whether all interrupts in s are known. Where no tick is seen
// at all, as under a hypervisor that brings them by a way of its own, silence
// proves nothing.
func (c *cpu) complete(s stall.Span) bool {
	return c.sees(s) && c.ticked != 0 && s.End.Sub(c.ticked) <= proofAge+s.Duration()
}

// softirqs are the names of <linux/interrupt.h>, in its order.
var softirqs = [...]string{
	"softirq HI", "softirq TIMER", "softirq NET_TX", "softirq NET_RX", "softirq BLOCK",
	"softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED", "softirq HRTIMER", "softirq RCU",
}

// maxNames bounds the names of interrupts that are kept.
const maxNames = 1 << 10

func (c *cpu) name(p *point, raw []byte) string {
	if p.field == 0 || len(raw) < p.field+4 {
		return p.name
	}
	n := binary.LittleEndian.Uint32(raw[p.field:])
	if p.soft && n < uint32(len(softirqs)) {
		return softirqs[n]
	}
	key := uint64(n)
	if name, ok := c.names[key]; ok {
		return name
	}
	if len(c.names) >= maxNames {
		return p.name
	}
	name := fmt.Sprintf("irq %d%s", n, device(n))
	c.names[key] = name
	return name
}

// maxTurns bounds the threads that had the CPU and are remembered: 256 KiB.
const maxTurns = 1 << 13

// States of a thread that is switched out, as sched_switch has them
// (TRACE_EVENT(sched_switch), include/trace/events/sched.h).
const (
	taskUninterruptible = 0x2 // D
	taskStopped         = 0x4 // T
	taskTraced          = 0x8 // t
)

// maxRealtime is the first priority below the real-time ones (MAX_RT_PRIO,
// include/linux/sched/prio.h).
const maxRealtime = 100

func (c *cpu) switched(r *perf.Record) {
	t := turn{at: r.At}
	if len(r.Raw) < max(c.comm+commSize, c.pid+4) {
		return
	}
	copy(t.comm[:], r.Raw[c.comm:])
	t.tid = int32(binary.LittleEndian.Uint32(r.Raw[c.pid:]))
	t.realtime = realtime(r.Raw, c.prio)
	t.fromRealtime = realtime(r.Raw, c.prevPrio)
	if c.state != 0 && len(r.Raw) >= c.state+8 {
		t.why = whyOf(binary.LittleEndian.Uint64(r.Raw[c.state:]))
	}
	if len(c.turns) == maxTurns {
		c.lose(c.turns[0].at, c.turns[maxTurns/2].at)
		c.turns = append(c.turns[:0], c.turns[maxTurns/2:]...)
	}
	c.turns = append(c.turns, t)
}

// realtime reports whether the priority at a place of raw is a real-time one.
func realtime(raw []byte, at int) bool {
	return at != 0 && len(raw) >= at+4 && int32(binary.LittleEndian.Uint32(raw[at:])) < maxRealtime
}

// whyOf says what a thread does that is switched out in a state.
func whyOf(state uint64) kind {
	switch {
	case state&(taskStopped|taskTraced) != 0:
		return stopped
	case state&taskUninterruptible != 0:
		return waiting
	}
	return blocked
}

// ran returns the thread that had the CPU for the longest time in s.
func (c *cpu) ran(s stall.Span) (next turn, longest time.Duration) {
	end := s.End
	for i := c.before(end) - 1; i >= 0 && end > s.Start; i-- {
		t := &c.turns[i]
		if d := end.Sub(max(t.at, s.Start)); d > longest {
			next, longest = *t, d
		}
		end = t.at
	}
	return next, longest
}

// before returns the number of turns that began before t.
func (c *cpu) before(t stall.Instant) int {
	return sort.Search(len(c.turns), func(i int) bool { return c.turns[i].at >= t })
}

// after returns the turn that began when the thread was switched out at t, and
// false if it is not known, or began before from. The CPU's record of a switch is
// written just before the thread's, and nothing is switched between them.
func (c *cpu) after(t, from stall.Instant) (turn, bool) {
	i := c.before(t+1) - 1
	if i < 0 || c.turns[i].at < from {
		return turn{}, false
	}
	return c.turns[i], true
}
