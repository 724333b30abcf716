package kernel

import (
	"encoding/binary"
	"sort"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

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

// ran returns who had the CPU for the longest time in s.
func (c *cpu) ran(s stall.Span) (who turn, longest time.Duration) {
	end := s.End
	for i := c.before(end) - 1; i >= 0 && end > s.Start; i-- {
		t := &c.turns[i]
		if d := end.Sub(max(t.at, s.Start)); d > longest {
			who, longest = *t, d
		}
		end = t.at
	}
	return who, longest
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
