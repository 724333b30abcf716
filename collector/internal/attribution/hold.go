package attribution

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/services"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// Sink says what becomes of spans. The fields that are nil or false want nothing.
type Sink struct {
	// Take gets the spans of each resource once, with their attributes, and ends
	// the parcel with Done. It is called without a lock, by several goroutines at once.
	Take func(*Parcel)
	// Slow gets one event for each span of Config.SlowSpan or longer, unless it
	// comes with the parcel.
	Slow func(plog.Logs)
	// Count adds the server and consumer spans to the sums.
	Count bool
	// Waits is the context of a sender that waits for the result. Its spans are held
	// no longer than it leaves time to hand them on, and are due once it is done.
	Waits context.Context
}

// Parcel is the spans of one resource, on their way to the next component. They
// count as held until Done.
type Parcel struct {
	Spans ptrace.Traces
	// Slow has the events of slow spans of a sender that waits, for when its spans were
	// taken. Those that find no room go to the Sink at once.
	Slow plog.Logs

	a        *Attributor
	n, bytes int // of the budget
	service  services.Name
	requests []services.Cell
}

// Done ends a parcel. Its requests count only if it was taken: one that was not
// will come again.
func (p *Parcel) Done(taken bool) {
	if taken {
		p.a.sums.Add(p.service, p.requests)
	}
	p.a.budget.Release(p.n, p.bytes)
	p.n, p.bytes, p.requests = 0, 0, nil
}

// What is held for a sender that waits beside its spans.
const (
	waiterBytes = 16 << 10 // of its request
	slowBytes   = 4 << 10  // of an event of a slow span, without its resource
)

// held are the spans of one resource.
type held struct {
	spans ptrace.ResourceSpans
	whole ptrace.Traces // that has them and nothing else
	id    wire.Identity
	n     int
	bytes int // less than none if they lie too deep to be measured
	due   time.Time
	begin int64 // of the first span, Unix ns; 0 if it is not known
	end   int64 // of the last
	sink  Sink

	found     found
	version   uint64        // of the registry, when it was looked for
	interests interests     // by which that may change
	seen      uint64        // of those changes
	looked    time.Duration // the last time, by registry.clock
	since     time.Duration // the first time, likewise: it is held for so long at least
}

// queue holds spans. Those that are being joined count until they are handed on.
type queue struct {
	mu      sync.Mutex
	waiting []*held
}

// Hold takes spans in. The sink gets those of each resource when every source of
// their host has passed them, after Wait at the latest, and at once if there is no room
// for them. With a Sink that takes spans, td must be the caller's own to give away;
// otherwise it is only read, and must not be changed any more.
func (a *Attributor) Hold(td ptrace.Traces, sink Sink, now time.Time) {
	due, waiter := dueFor(sink.Waits, now, a.config.Wait), waiterBytes
	for _, rs := range td.ResourceSpans().All() {
		h := newHeld(rs, sink, due)
		if sink.Waits != nil && h.bytes >= 0 {
			h.bytes += waiter + min(h.n, services.MostCells)*services.CellBytes
		}
		room := h.bytes >= 0 && a.budget.Hold(h.n, h.bytes)
		if sink.Take != nil {
			h.whole = ptrace.NewTraces()
			h.spans = h.whole.ResourceSpans().AppendEmpty()
			rs.MoveTo(h.spans)
		} else if h.spans = rs; room {
			h.spans = ptrace.NewResourceSpans()
			rs.CopyTo(h.spans)
		}
		if room {
			waiter = 0
			a.held.put(h)
		} else {
			a.overLimit(h)
		}
	}
}

// dueFor returns until when spans may be held: for wait, and for four fifths of
// the time that a sender leaves that waits. The last fifth is for handing them on: a
// sender that gave up would send them again, for ever.
func dueFor(sender context.Context, now time.Time, wait time.Duration) time.Time {
	if sender != nil {
		if deadline, ok := sender.Deadline(); ok {
			wait = min(wait, deadline.Sub(now)/5*4)
		}
	}
	return now.Add(wait)
}

// newHeld returns what is to be known of spans, without them.
func newHeld(rs ptrace.ResourceSpans, sink Sink, due time.Time) *held {
	h := &held{id: wire.IdentifySpans(rs), due: due, sink: sink}
	for _, ss := range rs.ScopeSpans().All() {
		h.n += ss.Spans().Len()
		for _, s := range ss.Spans().All() {
			if _, ok := wire.Duration(s); ok { // else no source passes it, and the others need not wait
				h.end = max(h.end, wire.UnixNano(s.EndTimestamp()))
				if at := wire.UnixNano(s.StartTimestamp()); h.begin == 0 || at < h.begin {
					h.begin = at
				}
			}
		}
	}
	bytes, ok := wire.HeapBytes(rs)
	if h.bytes = bytes; !ok {
		h.bytes = -1
	}
	return h
}

func (q *queue) put(h ...*held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, h...)
}

// all takes everything that waits.
func (q *queue) all() []*held {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// looks is how many spans' resources are looked up at a time, so that no event
// waits for long.
const looks = 64

// release joins what is ready, or everything, on all cores, and hands it on.
func (a *Attributor) release(now time.Time, all bool) {
	a.releasing.Lock()
	defer a.releasing.Unlock()
	ready := a.ready(now, all)
	workers := min(runtime.GOMAXPROCS(0), len(ready))
	for len(a.joiners) < workers {
		a.joiners = append(a.joiners, new(joiner))
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, j := range a.joiners[:workers] {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ready)); i = next.Add(1) - 1 {
				a.conclude(j, ready[i])
				ready[i] = nil // what was handed on is not ours to keep
			}
		})
	}
	wg.Wait()
}

// ready takes what is due.
func (a *Attributor) ready(now time.Time, all bool) (ready []*held) {
	waiting := a.held.all()
	if all {
		return waiting
	}
	kept := make([]*held, 0, len(waiting))
	for len(waiting) > 0 {
		some := waiting[:min(looks, len(waiting))]
		waiting = waiting[len(some):]
		a.mu.Lock()
		for _, h := range some {
			if h.overdue(now) || a.known.settled(h) {
				ready = append(ready, h)
			} else {
				kept = append(kept, h)
			}
		}
		a.mu.Unlock()
	}
	a.held.put(kept...)
	return ready
}

// overdue reports whether h is not held any longer.
func (h *held) overdue(now time.Time) bool {
	return !now.Before(h.due) || h.sink.Waits != nil && h.sink.Waits.Err() != nil
}

// settled reports whether nothing more is to come about h.
func (r *registry) settled(h *held) bool {
	r.look(h)
	return r.complete(h)
}

// conclude joins the spans of h and hands them on.
func (a *Attributor) conclude(j *joiner, h *held) {
	a.mu.Lock()
	if a.known.look(h); h.found.contested {
		a.known.lookAnew(h) // for the last time
	}
	f := h.found
	settled := a.known.complete(h)
	v := a.known.view(&f)
	a.mu.Unlock()
	switch {
	case f.ambiguous:
		a.lost.ambiguous.Add(uint64(h.n))
	case !v.known():
		a.lost.unknown.Add(uint64(h.n))
	case !settled:
		a.lost.timedOut.Add(uint64(h.n))
	}
	events := a.attribute(j, h, &v)
	a.deliver(h, h.n, h.bytes, &j.sums, events)
}

// deliver hands on the spans of h, and the events of the slow ones.
func (a *Attributor) deliver(h *held, n, bytes int, requests *services.Requests, events plog.Logs) {
	p := &Parcel{Spans: h.whole, Slow: plog.NewLogs(), a: a, n: n, bytes: bytes, service: services.Of(h.spans.Resource().Attributes()), requests: requests.Move()}
	if h.sink.Waits != nil {
		more := events.LogRecordCount() * slowBytes
		for _, rl := range events.ResourceLogs().All() {
			more += wire.ResourceBytes(rl.Resource())
		}
		if a.budget.Hold(0, more) {
			p.bytes += more
			p.Slow, events = events, p.Slow
		}
	}
	if h.sink.Take != nil {
		h.sink.Take(p)
	} else {
		p.Done(true)
	}
	if h.sink.Slow != nil && events.LogRecordCount() > 0 {
		h.sink.Slow(events)
	}
}

// overLimit hands on spans that found no room, and counts them. What stalled them
// stays unknown; what they brought from their own process is known all the same.
func (a *Attributor) overLimit(h *held) {
	a.lost.overLimit.Add(uint64(h.n))
	w := writer{a: a, j: new(joiner), h: h}
	if h.sink.Count {
		if a.config.Count == CountAttached {
			a.mu.Lock()
			a.known.lookAnew(h)
			w.inside = a.known.view(&h.found).inside
			a.mu.Unlock()
		}
		for _, ss := range h.spans.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				w.count(s, w.unseen(s))
			}
		}
	}
	a.deliver(h, 0, 0, &w.j.sums, plog.NewLogs())
}

// unseen returns what becomes of a span of which nothing is known from here.
func (w *writer) unseen(s ptrace.Span) *outcome {
	d, ok := wire.Duration(s)
	o := &outcome{share: &stall.Share{Total: d, Unseen: d}, odd: !ok}
	if own := w.brought(s, d); own != nil {
		o.bring(own, d)
	}
	return o
}
