package dotnetgc

import (
	"fmt"
	"slices"
	"strings"

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

// Statistics and histories name no collection: when, and on which thread,
// they come says which they belong to.

// heapStats belongs to the collection that ended last, on the same thread if
// one did.
func (m *Model) heapStats(s heapStats, thread uint64) {
	if m.orphanEnd.over(thread) {
		m.stats.Orphans++
		return
	}
	var found *collection
	for _, c := range m.open {
		if c.end == 0 || c.stats != nil {
			continue
		}
		better := found == nil || (c.endThread == thread) && (found.endThread != thread) ||
			(c.endThread == thread) == (found.endThread == thread) && c.end > found.end
		if better {
			found = c
		}
	}
	if found == nil {
		m.stats.Orphans++
		return
	}
	found.stats = &s
	m.finishReady()
}

// globalHistory belongs to the background collection if it says concurrent,
// otherwise to the youngest that can have been blocking: such a one tells its
// histories before the world runs again.
func (m *Model) globalHistory(h globalHistory, thread uint64) {
	var found *collection
	for _, c := range m.open {
		if c.global != nil {
			continue
		}
		concurrent := h.mechanisms&mechanismConcurrent != 0
		if concurrent && c.typ == BackgroundGC || !concurrent && c.stands() {
			found = c
		}
	}
	if found == nil {
		m.stats.Orphans++
		m.orphanHistory = orphan{true, thread}
		return
	}
	m.orphanHistory.over(thread)
	found.global, found.historian = &h, thread
	m.finishReady()
}

// heapHistory belongs to the collection whose global history the same thread
// has just written, if that has such a heap.
func (m *Model) heapHistory(h *heapHistory, thread uint64) {
	var found *collection
	for _, c := range m.open {
		if c.global == nil || h.heap >= c.global.heaps || c.has(h.heap) || c.global.mechanisms&mechanismConcurrent == 0 && !c.stands() {
			continue
		}
		if found == nil || c.historian == thread || found.historian != thread {
			found = c
		}
	}
	if found == nil || m.orphanHistory == (orphan{true, thread}) {
		m.stats.Orphans++
		return
	}
	found.add(h)
	m.finishReady()
}

// orphan is a thread whose last GCEnd, or GCGlobalHeapHistory, was of a
// collection that did not begin in the stream: what follows on it is not of any
// other.
type orphan struct {
	is     bool
	thread uint64
}

// over ends it, and reports whether it was on.
func (o *orphan) over(thread uint64) bool {
	if *o != (orphan{true, thread}) {
		return false
	}
	*o = orphan{}
	return true
}

// finishReady hands out the collections of which everything is there.
func (m *Model) finishReady() {
	for i := 0; i < len(m.open); {
		if c := m.open[i]; c.written() && c.stopsOver() && c.lacks() == "" {
			m.finish(c) // takes it out
		} else {
			i++
		}
	}
}

// written reports whether all events but those of the stops are there. It is asked
// after every event, before what is missing is put in words.
func (c *collection) written() bool {
	return c.end != 0 && c.stats != nil && c.whole()
}

// lacks says what is missing of a collection; empty if nothing is.
func (c *collection) lacks() string {
	var parts []string
	lack := func(missing bool, what string) {
		if missing {
			parts = append(parts, what)
		}
	}
	lack(c.end == 0, "GCEnd")
	lack(c.stats == nil, "GCHeapStats")
	lack(c.global == nil, "GCGlobalHeapHistory")
	lack(c.global != nil && !c.whole(), "GCPerHeapHistory")
	switch {
	case len(c.stops) == 0:
		parts = append(parts, "its stop")
	case c.global != nil && c.global.mechanisms&mechanismConcurrent != 0 && len(c.stops) < 2:
		parts = append(parts, "a stop")
	}
	lack(slices.ContainsFunc(c.stops, func(s *openStop) bool { return s.Incomplete != "" }), "the end of a stop")
	lack(c.tooMany, "its later stops: they are too many")
	return strings.Join(parts, ", ")
}

// finish hands out a collection with what there is.
func (m *Model) finish(c *collection) {
	m.open = slices.DeleteFunc(m.open, func(o *collection) bool { return o == c })
	for _, o := range m.open {
		o.overlapped = true
	}
	if c.end == 0 {
		m.hole(c.start, m.now, "the end of collection "+utoa(c.number)+" was not seen")
	}
	record := Collection{Collection: c.record(), Reason: c.reason, Type: c.typ}
	for _, s := range c.stops {
		record.Stops = append(record.Stops, s.Stop)
	}
	if c.global != nil {
		record.Heaps, record.PauseMode = c.global.heaps, c.global.pauseMode
	}
	m.share(&record.Collection)
	m.allocated(c, &record.Collection)
	m.handOutCollection(record)
	c.stops = nil // a stop may keep c, which must not keep all those before it
}

// record puts a collection in the project's terms.
func (c *collection) record() gc.Collection {
	r := gc.Collection{
		Index: c.number, Cycles: 1, Kind: c.kind(), Generation: c.generation(),
		Trigger: gc.Trigger(c.reason.String()), Start: gc.Known(c.start), Pauses: c.pauses(),
		Incomplete: c.incomplete(), Origin: stall.Dotnet, Fidelity: stall.Exact,
	}
	if c.end != 0 {
		r.End = gc.Known(c.end)
	}
	if c.global != nil {
		r.Compacting = gc.Known(c.global.mechanisms&mechanismCompaction != 0)
		r.Concurrent = gc.Known(c.global.mechanisms&mechanismConcurrent != 0)
		r.MemoryLoad = c.global.memoryLoad
	}
	if c.stats != nil {
		r.Pinned, r.Finalizable = gc.Known(uint64(c.stats.pinned)), gc.Known(c.stats.finalizable)
	}
	c.sizes(&r)
	return r
}

func (c *collection) incomplete() string {
	switch lack := c.lacks(); {
	case lack != "":
		return "not seen: " + lack
	case c.lossy:
		return "events were lost while it ran"
	}
	return ""
}

// kind says how it ran, which is not always what GCStart announced.
func (c *collection) kind() gc.Kind {
	if g, known := c.generation().Get(); known && g < int(gc.Gen2) {
		return gc.Ephemeral
	}
	if c.global != nil && c.global.mechanisms&mechanismConcurrent != 0 || c.global == nil && c.ranBeside() {
		return gc.Background
	}
	return gc.FullBlocking
}

// generation prefers what was condemned in the end.
func (c *collection) generation() gc.Maybe[int] {
	if c.global != nil && !c.global.condemned.IsZero() {
		return c.global.condemned
	}
	if !c.depth.IsZero() {
		return c.depth
	}
	return c.endDepth
}

// share sets the share of time that was paused so far.
func (m *Model) share(r *gc.Collection) {
	if elapsed := m.pausedUntil.Sub(m.options.Since); elapsed > 0 && m.paused <= elapsed {
		r.PauseUtilization = gc.Known(float64(m.paused) / float64(elapsed))
		if !m.options.FromStart {
			r.UtilizationSince = gc.Known(m.options.Since)
		}
	}
}
