package nettrace

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
