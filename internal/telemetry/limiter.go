package telemetry

import (
	"container/heap"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// rank orders events by how late they go when there are too many.
type rank uint8

const (
	rankTraced  rank = iota // requests that were traced: no stall, and there may be thousands
	rankGap                 // gaps below WARN
	rankWarn                // gaps of WARN and above, slow requests
	rankRuntime             // collections and suspensions
)

// event waits for the end of its second.
type event struct {
	name     string
	rank     rank
	stalled  time.Duration // within its rank, the shortest goes first
	v        stall.Interval
	attrs    []slog.Attr
	evidence string            // of a gap, whose attrs are made when it is sent
	span     trace.SpanContext // of a slow request
	stops    []stall.Span      // of the world, where they may lie
	answers  stall.Origin      // of a traced request: whose status says that it was sent
}

// origin returns the source that saw a stall: its status must say so if the event is
// late or lost. A slow request is no stall: it is not joined with. A traced one is none
// either, but a span waits for it as for the stalls of the source that answers for it.
func (e *event) origin() stall.Origin {
	switch {
	case e.name == semconv.EventTraced:
		return known(e.answers)
	case e.name == semconv.EventSlowRequest:
		return stall.NoOrigin
	}
	return known(e.v.Origin)
}

// eventHeap has the event that goes first when there are too many at its root.
type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].rank != h[j].rank {
		return h[i].rank < h[j].rank
	}
	return h[i].stalled < h[j].stalled
}

func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return last
}

// rateLimiter holds the events of a second. It keeps at most limit of them, the
// ones that matter most; the longest gap of each origin is always among them.
type rateLimiter struct {
	limit int

	mu      sync.Mutex
	closed  bool
	since   stall.Instant // when the second began
	queue   eventHeap     // the least important first
	spare   eventHeap     // the memory of the second before
	longest [stall.NumOrigins]longestGap
	losses  [stall.NumOrigins]source.Loss // what was seen and did not become an event
	over    uint64                        // events over the limit that take has not returned yet
	unsent  unsent
}

type longestGap struct {
	event
	set  bool
	over bool // it is over the threshold, and an event in its own right
}

// second is how long events are held. Whoever ticks once a second ticks a
// little early now and then.
const second = 950 * time.Millisecond

// put holds e, at the expense of the least important if there is no room.
func (r *rateLimiter) put(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.push(e)
	}
}

// longer reports whether a gap of d would be the longest of its origin so far.
func (r *rateLimiter) longer(s stall.Origin, d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.longest[known(s)]
	return !l.set || d > l.stalled
}

// putGap holds the gap e if it is the longest of its origin or over the
// threshold.
func (r *rateLimiter) putGap(e event, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	l := &r.longest[e.origin()]
	if l.set && e.stalled <= l.stalled {
		if over {
			r.push(e)
		}
		return
	}
	before := *l
	*l = longestGap{event: e, set: true, over: over}
	if before.set && before.over {
		r.push(before.event)
	} else {
		r.trim()
	}
}

func (r *rateLimiter) push(e event) {
	heap.Push(&r.queue, e)
	r.trim()
}

// trim drops what is over the limit; the longest gaps count towards it.
func (r *rateLimiter) trim() {
	room := r.limit
	for i := range r.longest {
		if r.longest[i].set {
			room--
		}
	}
	for len(r.queue) > max(0, room) {
		gone := heap.Pop(&r.queue).(event)
		r.over++
		r.lose(&gone)
	}
}

// lose counts an event that is not sent. The next statuses call its stops unseen. Of a
// traced request no source has lost anything: its time is watched all the same.
func (r *rateLimiter) lose(e *event) {
	if e.name == semconv.EventTraced {
		return
	}
	l := &r.losses[e.origin()]
	l.Count++
	l.Time += e.stalled
	for _, stop := range e.stops {
		r.unsent.add(e.origin(), stop)
	}
}

// drop counts an event that was not held, or was sent and not taken.
func (r *rateLimiter) drop(e *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(e)
}

// tick returns the events of the second that ended, by their start, and how many
// were over the limit in it; none if the second is not over.
func (r *rateLimiter) tick(now stall.Instant) (events []event, over uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) < second {
		return nil, 0
	}
	r.since = now
	return r.take()
}

// flush returns what is held, however long it was. If it is the last, nothing is
// held from then on.
func (r *rateLimiter) flush(last bool) (events []event, over uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, over = r.take()
	r.closed = r.closed || last
	return events, over
}

func (r *rateLimiter) take() (events []event, over uint64) {
	if r.closed {
		return nil, 0
	}
	events, r.queue = r.queue, r.spare[:0]
	for i := range r.longest {
		if l := &r.longest[i]; l.set {
			events = append(events, l.event)
			*l = longestGap{}
		}
	}
	r.spare = events
	slices.SortStableFunc(events, func(a, b event) int { return int(a.v.Start - b.v.Start) })
	over, r.over = r.over, 0
	return events, over
}

// state returns the earliest start of what is held of s, zero for nothing, and
// what of s was lost.
func (r *rateLimiter) state(s stall.Origin) (earliest stall.Instant, loss source.Loss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	see := func(e *event) {
		if e.origin() == s && e.v.Start != 0 && (earliest == 0 || e.v.Start < earliest) {
			earliest = e.v.Start
		}
	}
	for i := range r.queue {
		see(&r.queue[i])
	}
	if l := &r.longest[known(s)]; l.set {
		see(&l.event)
	}
	return earliest, r.losses[known(s)]
}

// known returns s, or NoOrigin if there is no such origin.
func known(s stall.Origin) stall.Origin {
	if s >= stall.NumOrigins {
		return stall.NoOrigin
	}
	return s
}

const (
	// unsentReach is for how long statuses name again what one has named: a status
	// that gets lost is made good by the next.
	unsentReach = 3 * time.Second
	// maxUnsent bounds the stops that are kept of an origin. If there are more, the
	// last one reaches to the end of all.
	maxUnsent = 4 * semconv.MaxUnseen
)

// unsent are the stops of the world that did not become events, by origin. The
// next statuses call that time unseen: whoever joins with the events would take
// the silence for a program that ran.
type unsent [stall.NumOrigins][]unsentStop

// unsentStop may be reported long after it was. It is kept until statuses have
// named it.
type unsentStop struct {
	stall.Span
	until stall.Instant // it is named again, 0 if it was not yet
}

// add takes a stop of s. What either of Go's sources saw stopped the same process,
// of which the other must not say that it ran.
func (u *unsent) add(s stall.Origin, v stall.Span) {
	switch s {
	case stall.GCWatch, stall.GoTrace:
		u.addTo(stall.GCWatch, v)
		u.addTo(stall.GoTrace, v)
	default:
		u.addTo(known(s), v)
	}
}

func (u *unsent) addTo(s stall.Origin, v stall.Span) {
	if n := len(u[s]); n >= maxUnsent {
		last := &u[s][n-1]
		*last = unsentStop{Span: stall.Span{Start: min(last.Start, v.Start), End: max(last.End, v.End)}}
		return
	}
	u[s] = append(u[s], unsentStop{Span: v})
}

// before returns those of s that lie between since and watermark, and forgets
// those that were named often enough.
func (u *unsent) before(s stall.Origin, since, watermark stall.Instant) (named []stall.Span) {
	u[s] = slices.DeleteFunc(u[s], func(v unsentStop) bool { return v.until != 0 && v.until < since })
	for i := range u[s] {
		v := &u[s][i]
		if v.Start >= watermark {
			continue
		}
		named = append(named, stall.Span{Start: v.Start, End: min(v.End, watermark)})
		if v.until == 0 && v.End <= watermark {
			v.until = since.Add(unsentReach)
		}
	}
	return named
}

// unsentOf returns what a status of s has to call unseen.
func (r *rateLimiter) unsentOf(s stall.Origin, since, watermark stall.Instant) []stall.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unsent.before(known(s), since, watermark)
}

// renew says that the status of s since then is lost. The stops that it was the
// first to name are kept until another has.
func (r *rateLimiter) renew(s stall.Origin, since stall.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.unsent[known(s)] {
		if v := &r.unsent[known(s)][i]; v.until == since.Add(unsentReach) {
			v.until = 0
		}
	}
}
