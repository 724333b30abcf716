package telemetry

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// ration holds the events of a second. It keeps at most limit of them, the ones
// that matter most; the longest gap of each source is always among them.
type ration struct {
	limit int

	mu      sync.Mutex
	closed  bool
	since   stall.Instant // when the second began
	queue   heldHeap      // the least important first
	spare   heldHeap      // the memory of the second before
	longest [stall.NumOrigins]longestGap
	losses  [stall.NumOrigins]Loss
	over    [stall.NumOrigins]Loss // of losses, what Tick has not counted yet
	blanks  blanks
}

type longestGap struct {
	held
	set  bool
	over bool // it is over the threshold, and an event in its own right
}

// Loss is what was seen and did not become an event.
type Loss struct {
	Count    uint64
	Duration time.Duration
}

func (l *Loss) add(d time.Duration) {
	l.Count++
	l.Duration += d
}

func newRation(limit int, now stall.Instant) *ration {
	return &ration{limit: limit, since: now}
}

// put holds h, at the expense of the least important if there is no room.
func (r *ration) put(h held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.push(h)
	}
}

// longer reports whether a gap of d would be the longest of its source so far.
func (r *ration) longer(s stall.Origin, d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.longestOf(s)
	return !l.set || d > l.rank
}

// putGap holds the gap h if it is the longest of its source or over the
// threshold.
func (r *ration) putGap(h held, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	l := r.longestOf(h.v.Origin)
	if l.set && h.rank <= l.rank {
		if over {
			r.push(h)
		}
		return
	}
	before := *l
	*l = longestGap{held: h, set: true, over: over}
	if before.set && before.over {
		r.push(before.held)
	} else {
		r.trim()
	}
}

func (r *ration) longestOf(s stall.Origin) *longestGap {
	if s >= stall.NumOrigins {
		s = stall.NoOrigin
	}
	return &r.longest[s]
}

func (r *ration) push(h held) {
	heap.Push(&r.queue, h)
	r.trim()
}

// trim drops what is over the limit; the longest gaps count towards it.
func (r *ration) trim() {
	room := r.limit
	for i := range r.longest {
		if r.longest[i].set {
			room--
		}
	}
	for len(r.queue) > max(0, room) {
		gone := heap.Pop(&r.queue).(held)
		r.lose(gone.source(), gone.rank, &r.over)
		for _, stop := range gone.stops {
			r.blanks.add(gone.source(), stop)
		}
	}
}

func (r *ration) lose(s stall.Origin, d time.Duration, also *[stall.NumOrigins]Loss) {
	if s >= stall.NumOrigins {
		s = stall.NoOrigin
	}
	r.losses[s].add(d)
	if also != nil {
		also[s].add(d)
	}
}

// second is how long events are held. Whoever ticks once a second ticks a
// little early now and then.
const second = 950 * time.Millisecond

// tick returns the events of the second that ended, by their start, and what
// was over the limit in it; none if the second is not over.
func (r *ration) tick(now stall.Instant) (events []held, over uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || now.Sub(r.since) < second {
		return nil, 0
	}
	r.since = now
	return r.take()
}

func (r *ration) take() (events []held, over uint64) {
	events, r.queue, r.spare = r.queue, r.spare[:0], r.queue
	for i := range r.longest {
		if l := &r.longest[i]; l.set {
			events = append(events, l.held)
			*l = longestGap{}
		}
	}
	r.spare = events
	slices.SortStableFunc(events, func(a, b held) int { return int(a.v.Start - b.v.Start) })
	for i := range r.over {
		over += r.over[i].Count
		r.over[i] = Loss{}
	}
	return events, over
}

// flush returns what is held, however long it was.
func (r *ration) flush() (events []held, over uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0
	}
	return r.take()
}

// close returns what is held and takes nothing from then on.
func (r *ration) close() (events []held, over uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0
	}
	r.closed = true
	return r.take()
}
