package gotrace

import "github.com/otelgc/otelgc/stall"

// moment is when something that is still open began: a timestamp of the
// current generation, or an instant if it is older. Ticks of two generations
// cannot be compared, their frequencies may differ.
type moment struct {
	at    ticks
	since stall.Instant
	older bool
}

func (m moment) instant(c *clock) stall.Instant {
	if m.older {
		return m.since
	}
	return c.instant(m.at)
}

// until returns the span from m to end. Each generation relates ticks to the
// clock by a snapshot of its own: what crosses two may seem to end before it
// began.
func (m moment) until(end ticks, c *clock) stall.Span {
	start := m.instant(c)
	return stall.Span{Start: start, End: max(start, c.instant(end))}
}

// carried returns m as it stands in the next generation.
func (m moment) carried(c *clock) moment {
	return moment{since: m.instant(c), older: true}
}

// thread is what is known of one M, across batches and generations.
type thread struct {
	id   uint64
	seen uint64 // the last generation with a batch of it
	// g is the goroutine that runs on it or is in a system call on it, 0 if
	// none or not known; seq is that goroutine's last sequence number of this
	// generation. Since is when it came onto the thread, 0 if that was not in
	// this generation.
	g     uint64
	seq   uint32
	since ticks

	stop   openStop
	sweep  openSweep
	worker openWorker
	assist threadAssist
}

// idle reports whether forgetting t loses nothing.
func (t *thread) idle() bool {
	return t.g == 0 && !t.stop.open && !t.sweep.open && !t.worker.open
}

// threads holds all Ms. Batches of one M come in runs, so the last is kept.
type threads struct {
	byID map[uint64]*thread
	last *thread
	free []*thread
}

func (s *threads) get(id, generation uint64, limit int) (*thread, error) {
	t := s.last
	if t == nil || t.id != id {
		if t = s.byID[id]; t == nil {
			if len(s.byID) >= limit {
				return nil, overLimit("threads", int64(len(s.byID)+1), int64(limit))
			}
			t = s.fresh(id)
		}
		s.last = t
	}
	if t.seen != generation {
		t.seen = generation
		t.seq, t.since = 0, 0 // sequence numbers start anew in each generation
	}
	if id == noThread {
		t.g = 0
	}
	return t, nil
}

func (s *threads) fresh(id uint64) *thread {
	if s.byID == nil {
		s.byID = make(map[uint64]*thread)
	}
	var t *thread
	if n := len(s.free); n > 0 {
		t, s.free = s.free[n-1], s.free[:n-1]
		*t = thread{}
	} else {
		t = new(thread)
	}
	t.id = id
	s.byID[id] = t
	return t
}

// prune forgets threads that were silent in this generation and hold nothing.
func (s *threads) prune(generation uint64) {
	for id, t := range s.byID {
		if t.seen != generation && t.idle() {
			s.forget(id, t)
		}
	}
}

// reset forgets everything, after a hole in the stream.
func (s *threads) reset() {
	for id, t := range s.byID {
		s.forget(id, t)
	}
}

func (s *threads) forget(id uint64, t *thread) {
	delete(s.byID, id)
	s.free = append(s.free, t)
	if s.last == t {
		s.last = nil
	}
}
