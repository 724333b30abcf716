package gotrace

import (
	"github.com/otelgc/otelgc/stall"
)

// decoder holds what is known of the generation that is being read, and what
// is carried from one to the next. Its slices are reused.
type decoder struct {
	version    int
	limits     Limits
	offset     stall.Instant // see Options.Offset
	args       *[256]uint8   // see eventTable
	markPrefix string
	following  bool   // marks are wanted at all
	tasking    bool   // and tasks
	tracking   bool   // and the states of goroutines
	rest       func() // see Options.Breathe; may be nil

	// Of this generation.
	number      uint64
	clock       clock
	first, last ticks // of the threads' events; last excludes the tracer's own batches
	any         bool  // there was an event
	hole        bool  // the generation does not follow on what was read before
	events      int64
	bytes64     int64
	statuses    int
	lost        Lost
	strings     table
	stacks      table
	stops       []doneStop
	handoffs    []handoff
	ends        []ticks // of EvGCEnd, in order, while stops are resolved
	cycles      []cycleEdge
	collections []stall.Span // in order; see noteCollections
	sweeps      []doneSweep
	assists     []assistEdge
	doneAssists []doneAssist
	workers     []doneWorker
	logs        []userLog
	tasks       []userTask
	transitions transitions
	thinned     map[uint64]uint32 // goroutines that lost transitions: up to which sequence number
	callbacks   bool              // of cgo, from threads that Go did not make
	switches    uint64            // between coroutines; 0 if there was none
	picker      picker
	standIns    map[uint64]followed // the standNext of the generation before
	pairs       []pair
	pairsFull   bool                // merging them makes no room any more
	texts       [cachedTexts]string // by string id, see decoder.text
	frameBuf    []string
	asked       map[uint64][]string // by stack id, see decoder.frames
	collects    map[uint64]bool     // by stack id, see decoder.waitsToCollect
	heap, goals series

	// To put what is reported in order.
	stopOrder   merger[Stop]
	workerOrder merger[Worker]
	rangeOrder  merger[Range]
	markOrder   merger[Mark]
	taskOrder   merger[Task]

	// Across generations.
	covered     stall.Instant // the end of the generation before
	running     Cycle         // what Generation.Running points to
	threads     threads
	cycle       openCycle
	openAssists map[uint64]openAssist
	followed    map[uint64]followed
	standNext   map[uint64]followed // coroutines that stand in for goroutines
	names       names
}

func (d *decoder) noteFirst(at ticks) {
	if !d.any || at < d.first {
		d.first = at
	}
	d.any = true
}

// breathe gives the caller the chance to rest.
func (d *decoder) breathe() {
	if d.rest != nil {
		d.rest()
	}
}

// batch hands a batch to the reader that its first byte names. On an error the index is
// that of the event at fault.
func (d *decoder) batch(h batchHeader, data []byte, offset int64) (int, error) {
	n := h.size
	if n == 0 || h.experiment {
		return 0, nil
	}
	switch typ := eventType(data[0]); {
	case typ == evStrings:
		if !d.strings.keep(data[:n], offset, d.limits.TableBytes) {
			d.lost.Strings++
		}
	case typ == evStacks:
		if !d.stacks.keep(data[:n], offset, d.limits.TableBytes) {
			d.lost.Stacks++
		}
	case typ == evCPUSamples:
	case typ == evFrequency && d.version < go125, typ == evSync && d.version >= go125:
		return 0, d.clock.readSync(data, n, h.base, d.version)
	default:
		t, err := d.threads.get(h.thread, h.generation, d.limits.Threads)
		if err != nil {
			return 0, err
		}
		return d.decodeEvents(t, data, n, h.base)
	}
	return 0, nil
}

// endsAtEOF reports whether the end of the stream can be the end of the
// generation: before Go 1.26, if the frequency is there, without which nothing
// can be known. The format then shows no other sign of a truncation.
func (d *decoder) endsAtEOF() bool { return d.version < go126 && d.clock.frequency != 0 }

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

// until returns the span from m to end. A generation may relate ticks to the
// clock by a snapshot of its own. A span that crosses two of them may then seem to
// end before it began.
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
