package dotnetgc

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
