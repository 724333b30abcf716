package nettrace

import (
	"slices"
)

// item is a held event, or a place where events are missing: then typ is nil.
type item struct {
	ticks   Ticks
	since   Ticks // of a loss
	thread  uint64
	typ     *eventType
	payload int // where it begins
	size    uint32
	lost    uint32
	pid     int
}

// run is a stretch of items that are in order: from next up to end.
type run struct {
	ticks     Ticks // of next
	next, end int
}

// queue holds events back and hands them out in the order of time. They arrive
// as runs, so it is runs that are put in order, by a heap: nearly linear for
// what the runtime writes, n log n for the worst.
type queue struct {
	items    []item // in order of arrival
	payloads []byte
	runs     []run // a heap by (ticks, next)
	open     run   // the one that still grows
	ready    Ticks // up to here, all may be handed out
	all      bool  // all may be handed out
	used     int   // items that were handed out
	latest   Ticks // of all that arrived
}

func (q *queue) pushEvent(it item, payload []byte) {
	it.payload, it.size = len(q.payloads), uint32(len(payload))
	q.payloads = append(q.payloads, payload...)
	q.push(it)
}

func (q *queue) push(it item) {
	n := len(q.items)
	if q.open.next < q.open.end && it.ticks < q.items[n-1].ticks {
		q.close()
	}
	if q.open.next == q.open.end {
		q.open = run{it.ticks, n, n}
	}
	if it.typ == nil {
		it.payload = len(q.payloads)
	}
	q.items = append(q.items, it)
	q.open.end++
	q.latest = max(q.latest, it.ticks)
}

// over reports whether more is held than the limits allow.
func (q *queue) over(l *Limits) bool {
	return len(q.items)-q.used > l.HeldEvents || len(q.payloads) > l.HeldBytes
}

// release lets go of all up to t.
func (q *queue) release(t Ticks) {
	if t > q.ready {
		q.ready = t
		q.close()
	}
}

// releaseAll lets go of all that is held now.
func (q *queue) releaseAll() {
	q.all = true
	q.close()
}

// close puts the open run in order with the others.
func (q *queue) close() {
	if q.open.next == q.open.end {
		return
	}
	q.runs = append(q.runs, q.open)
	q.open = run{}
	for i := len(q.runs) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.runs[i], q.runs[parent] = q.runs[parent], q.runs[i]
		i = parent
	}
}

func (q *queue) less(i, j int) bool {
	a, b := &q.runs[i], &q.runs[j]
	return a.ticks < b.ticks || a.ticks == b.ticks && a.next < b.next
}

// pop hands out the next event, if there is one that may be.
func (q *queue) pop(e *Event) bool {
	if len(q.runs) == 0 || !q.all && q.runs[0].ticks > q.ready {
		q.rest()
		return false
	}
	top := &q.runs[0]
	it := &q.items[top.next]
	*e = Event{Ticks: it.ticks, Thread: it.thread, PID: it.pid}
	if it.typ == nil {
		e.Lost, e.LostSince = uint64(it.lost), it.since
	} else {
		e.Provider, e.ID, e.Version, e.Name = it.typ.provider, it.typ.id, it.typ.version, it.typ.name
		e.Payload = q.payloads[it.payload : it.payload+int(it.size) : it.payload+int(it.size)]
	}
	q.used++
	top.next++
	if top.next == top.end {
		last := len(q.runs) - 1
		q.runs[0] = q.runs[last]
		q.runs = q.runs[:last]
	} else {
		top.ticks = q.items[top.next].ticks
	}
	q.sink()
	return true
}

// sink moves the first run down to its place.
func (q *queue) sink() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q.runs) {
			return
		}
		if child+1 < len(q.runs) && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return
		}
		q.runs[i], q.runs[child] = q.runs[child], q.runs[i]
		i = child
	}
}

// rest is called when nothing can be handed out. It takes back the memory of
// what was.
func (q *queue) rest() {
	q.all = false
	if len(q.runs) == 0 && q.open.next == q.open.end {
		q.empty(0)
		q.payloads = q.payloads[:0]
		return
	}
	if q.used > len(q.items)/2 {
		q.compact()
	}
}

// empty cuts the items down to n. Those behind must not keep a type that is
// forgotten.
func (q *queue) empty(n int) {
	clear(q.items[n:])
	q.items, q.used = q.items[:n], 0
}

// What a queue keeps when it is empty and nothing arrives, so that a stream with
// little to say does not allocate.
const (
	keptItems    = 1 << 8
	keptPayloads = 1 << 15
)

// free gives back the memory of an empty queue, but for a little.
func (q *queue) free() {
	if cap(q.items) > keptItems {
		q.items = nil
	}
	if cap(q.payloads) > keptPayloads {
		q.payloads = nil
	}
	if cap(q.runs) > keptItems {
		q.runs = nil
	}
}

// compact moves what is held to the front, in order of arrival.
func (q *queue) compact() {
	q.close()
	slices.SortFunc(q.runs, func(a, b run) int { return a.next - b.next })
	n, bytes := 0, 0
	for i := range q.runs {
		r := &q.runs[i]
		first := n
		for k := r.next; k < r.end; k++ {
			it := q.items[k]
			copy(q.payloads[bytes:], q.payloads[it.payload:it.payload+int(it.size)])
			it.payload = bytes
			bytes += int(it.size)
			q.items[n] = it
			n++
		}
		r.next, r.end = first, n
	}
	q.empty(n)
	q.payloads = q.payloads[:bytes]
	slices.SortFunc(q.runs, func(a, b run) int {
		if a.ticks != b.ticks {
			if a.ticks < b.ticks {
				return -1
			}
			return 1
		}
		return a.next - b.next
	})
}

// sequence notes the number of an event among those of its thread, and what is
// missing before it.
//
// A thread counts its events from 1, whether or not they get into the stream.
// Format 6 has other writers than the runtime, so the first number there is
// taken as it comes.
func (r *Reader) sequence(h *head) {
	c, seen := r.threads.find(h.capture, r.limits.Threads, &r.stats)
	missing := h.seq - c.seq - 1
	switch {
	case missing == 0:
	case h.seq == 1: // another thread with the same id
		missing = 0
	case !seen && (r.threads.forgot || r.header.Version == 6):
		missing = 0
	case seen && missing >= 1<<31: // another thread, and its first events are missing
		missing = h.seq - 1
		c.at = 0
	}
	if missing != 0 {
		r.lose(h.capture, missing, c.at, h.ticks)
	}
	c.seq, c.at = h.seq, h.ticks
}

func (r *Reader) lose(capture uint64, n uint32, since, ticks Ticks) {
	r.stats.Lost += uint64(n)
	r.missing(capture, n, since, ticks)
}

// missing holds a place where events are missing.
func (r *Reader) missing(capture uint64, n uint32, since, ticks Ticks) {
	r.steps++
	pid, thread := r.threads.resolve(capture)
	r.held.push(item{ticks: ticks, since: since, thread: thread, pid: pid, lost: n})
}

// The flags of a sequence point of format 6.
const (
	flushThreads  = 1
	flushMetadata = 2
)

// sequencePoint reads: u64 ticks, in format 6 u32 flags, u32 count, and of each
// thread its id and the number of its last event. No event before it is in the
// stream behind it.
func (r *Reader) sequencePoint(c *cursor) error {
	at := Ticks(c.u64())
	flags := uint32(0)
	six := r.header.Version == 6
	if six {
		flags = c.u32()
	}
	n := c.u32()
	if uint64(n) > uint64(r.limits.Threads) {
		return overLimit("threads of a sequence point", uint64(n), uint64(r.limits.Threads))
	}
	for range n {
		r.steps++
		var id uint64
		var seq uint32
		if six {
			id, seq = c.uvarint(), c.uvarint32()
		} else {
			id, seq = c.u64(), c.u32()
		}
		if c.bad {
			return broken("sequence point ends within its threads")
		}
		r.reached(id, seq, at)
	}
	if c.bad {
		return broken("sequence point of %d bytes is too short", len(c.b))
	}
	r.held.releaseAll()
	if flags&flushThreads != 0 {
		r.threads.forget()
		r.threads.rows, r.threads.mostRows = make(map[uint64]threadRow), 0
	}
	if flags&flushMetadata != 0 {
		r.types.forget()
	}
	return nil
}

// reached notes that a thread has numbered its events up to seq.
func (r *Reader) reached(id uint64, seq uint32, at Ticks) {
	c, seen := r.threads.find(id, r.limits.Threads, &r.stats)
	missing := seq - c.seq
	if missing == 0 || missing >= 1<<31 {
		return // a lower bound: more may have been seen
	}
	if seen || !r.threads.forgot && r.header.Version != 6 {
		r.lose(id, missing, c.at, at)
	}
	c.seq = seq
}

// removeThreads reads a block of format 6 that says which threads are over: the
// index and the number of the last event of each.
func (r *Reader) removeThreads(c *cursor) error {
	for n := 0; c.more(); n++ {
		if n == r.limits.Threads {
			return overLimit("threads removed at once", uint64(n)+1, uint64(r.limits.Threads))
		}
		r.steps++
		id, seq := c.uvarint(), c.uvarint32()
		if c.bad {
			break
		}
		r.reached(id, seq, r.held.latest)
		delete(r.threads.captured, id)
		delete(r.threads.rows, id)
		r.threads.last = nil
	}
	if c.bad {
		return broken("block of removed threads ends within one")
	}
	return nil
}
