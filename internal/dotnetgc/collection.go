package dotnetgc

import (
	"fmt"
	"slices"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Collection is one collection, and what it ran in.
type Collection struct {
	gc.Collection
	Reason Reason // that Trigger names
	Type   Type   // as announced; Kind says how it ran
	Heaps  int    // 1, but for server GC; 0 if not known
	// PauseMode is the latency mode that was on, one of those with a name.
	PauseMode gc.Maybe[PauseMode]
	// Stops are all the stops that it ran in. Pauses has those that are charged
	// to it: a stop with two collections is charged to the ephemeral one.
	Stops []Stop
}

// collection is one that has begun.
type collection struct {
	gcStart
	start, end stall.Instant
	endThread  uint64
	endDepth   gc.Maybe[int]
	stops      []*openStop
	stats      *heapStats
	global     *globalHistory
	historian  uint64 // the thread that said global
	seen       [maxHeaps / 64]uint64
	heaps      int // of which there is a history
	parts      int // generations that they all have
	sum        [gc.NumGenerations]generationData
	overlapped bool // another one was handed out after it began
	lossy      bool
	tooMany    bool // stops: it was given up
}

// begin is GCStart.
func (m *Model) begin(s gcStart, at stall.Instant) {
	if m.find(s.number) != nil || s.number == m.last && m.last != 0 {
		return // .NET Framework fires it twice
	}
	for _, c := range m.list() {
		// One of each runs at a time, so the end of that one was not seen.
		if c.end == 0 && (c.typ == BackgroundGC) == (s.typ == BackgroundGC) {
			m.finish(c)
		}
	}
	if m.last != 0 && s.number > m.last+1+m.counted {
		m.hole(m.pausedUntil, at, fmt.Sprintf("collections %d to %d were not seen", m.last+1, s.number-1))
		m.before = heapAfter{}
	}
	m.last, m.counted = max(m.last, s.number), 0
	c := &collection{gcStart: s, start: at}
	m.open = append(m.open, c)
	if stop := m.standing(); stop != nil {
		m.enter(c, stop)
	}
	if len(m.open) > maxOpen {
		m.stats.Dropped++
		m.finish(m.open[0])
	}
}

// end is GCEnd.
func (m *Model) end(number uint64, depth gc.Maybe[int], thread uint64, at stall.Instant) {
	c := m.find(number)
	if c == nil {
		m.stats.Orphans++
		m.orphanEnd = orphan{true, thread}
		m.hole(0, at, fmt.Sprintf("the start of collection %d was not seen", number))
		return
	}
	if c.end != 0 {
		return
	}
	m.orphanEnd.over(thread)
	c.end, c.endThread, c.endDepth = at, thread, depth
	for _, o := range m.list() {
		if o.end != 0 && o.end < c.start && o.stopsOver() {
			m.finish(o) // what it lacks would have come by now
		}
	}
	m.finishReady()
}

func (c *collection) has(heap int) bool { return c.seen[heap/64]>>(heap%64)&1 != 0 }

func (c *collection) add(h *heapHistory) {
	c.seen[h.heap/64] |= 1 << (h.heap % 64)
	if c.heaps == 0 || h.generations < c.parts {
		c.parts = h.generations
	}
	c.heaps++
	for g := range h.generations {
		c.sum[g].add(&h.data[g])
	}
}

// ranBeside reports whether the world ran while c did.
func (c *collection) ranBeside() bool {
	if c.typ != BackgroundGC {
		return false
	}
	for _, s := range c.stops {
		if s.RestartBegin != 0 && (c.end == 0 || s.RestartBegin < c.end) {
			return true
		}
	}
	return false
}

// paused reports whether the end of a pause of c was seen.
func (c *collection) paused() bool {
	return slices.ContainsFunc(c.stops, func(s *openStop) bool { return s.RestartBegin != 0 })
}

// stands reports whether the world has not run since c began, as far as was
// seen.
func (c *collection) stands() bool {
	for _, s := range c.stops {
		if s.RestartBegin != 0 {
			return false
		}
	}
	return c.end == 0 || len(c.stops) > 0
}

func (c *collection) stopsOver() bool {
	for _, s := range c.stops {
		if !s.over() {
			return false
		}
	}
	return true
}

// background returns the background collection that runs, nil if none does.
func (m *Model) background() *collection {
	for _, c := range m.open {
		if c.typ == BackgroundGC && c.end == 0 {
			return c
		}
	}
	return nil
}

func (m *Model) find(number uint64) *collection {
	for _, c := range m.open {
		if c.number == number {
			return c
		}
	}
	return nil
}

// list returns the open collections in a list that can be walked while they
// are handed out.
func (m *Model) list() []*collection { return slices.Clone(m.open) }
