package attribution

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// Sink says what becomes of spans. The fields that are nil or false want nothing.
type Sink struct {
	// Traces gets each span once, with its attributes, at the latest after
	// Wait; the data is then the sink's. It is called without a lock, by
	// several goroutines at once.
	Traces func(ptrace.Traces)
	// Slow gets one event for each span of Config.SlowSpan or longer.
	Slow func(plog.Logs)
	// Count adds the server and consumer spans to the sums.
	Count bool
}

// held are the spans of one resource.
type held struct {
	spans ptrace.ResourceSpans
	whole ptrace.Traces // that has them and nothing else, if they are of no batch
	batch *Batch        // that they are of, nil if they leave by the sink
	id    identity
	n     int
	bytes int
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

// Hold takes spans in. They go to the sink when every source of their host has
// passed them. With a Sink that wants traces, td must be the caller's own to
// give away; otherwise it is only read, and must not be changed any more.
func (a *Attributor) Hold(td ptrace.Traces, sink Sink, now time.Time) {
	var past ptrace.Traces
	full := false
	for _, rs := range td.ResourceSpans().All() {
		h := newHeld(rs, sink, now.Add(a.config.Wait))
		if h.bytes >= 0 && a.account.hold(h.n, h.bytes) {
			h.whole = ptrace.NewTraces()
			if h.spans = h.whole.ResourceSpans().AppendEmpty(); sink.Traces != nil {
				rs.MoveTo(h.spans)
			} else {
				rs.CopyTo(h.spans)
			}
			a.held.put(h)
			continue
		}
		a.sums.add(serviceOf(rs.Resource().Attributes()), a.overLimit(h, rs))
		if sink.Traces == nil {
			continue
		}
		if !full {
			past, full = ptrace.NewTraces(), true
		}
		rs.MoveTo(past.ResourceSpans().AppendEmpty())
	}
	if full {
		sink.Traces(past)
	}
}

// written reports whether somebody gets the spans with their attributes.
func (h *held) written() bool { return h.batch != nil || h.sink.Traces != nil }

// newHeld returns what is to be known of spans, without them. Spans that lie too
// deep to be measured take less than no bytes.
func newHeld(rs ptrace.ResourceSpans, sink Sink, due time.Time) *held {
	h := &held{id: identifySpans(rs), due: due, sink: sink}
	for _, ss := range rs.ScopeSpans().All() {
		h.n += ss.Spans().Len()
		for _, s := range ss.Spans().All() {
			if _, ok := duration(s); ok { // else nobody passes it, and the others need not wait
				h.end = max(h.end, clamp(s.EndTimestamp()))
				if at := clamp(s.StartTimestamp()); h.begin == 0 || at < h.begin {
					h.begin = at
				}
			}
		}
	}
	bytes, ok := heapBytes(rs)
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

// Batch is spans that came in together, for a caller who waits for them and hands
// them on: see [Attributor.HoldBatch].
type Batch struct {
	a       *Attributor
	more    chan struct{}
	hurried atomic.Bool

	mu     sync.Mutex
	left   int // resources that are still held
	parcel *Parcel
}

// Parcel is what leaves together of a batch. It is to be handed on, and then ended
// with Done.
type Parcel struct {
	Spans ptrace.Traces
	// Slow has an event for each span of Config.SlowSpan or longer, for when the
	// spans were taken. Those that find no room go to the Sink at once.
	Slow plog.Logs

	a        *Attributor
	n, bytes int // of the account
	sums     map[serviceName]*serviceSums
}

// What a batch takes beside its spans: who waits for it, what is told of them, and
// the sums of one service.
const (
	waiterBytes = 16 << 10
	slowBytes   = 4 << 10 // of an event of a slow span, without its resource
	sumsBytes   = int(unsafe.Sizeof(serviceSums{}))
)

// HoldBatch holds spans as Hold does, but all or none of them, at the latest until
// due or the first Tick after that, and gives them back: the caller takes parcels
// until it has all. Spans that find no room are the first parcel, as they came,
// counted. The spans must be the caller's own to give away.
func (a *Attributor) HoldBatch(td ptrace.Traces, sink Sink, due time.Time) *Batch {
	sink.Traces = nil // they go back
	b := &Batch{a: a, more: make(chan struct{}, 1)}
	b.parcel = b.newParcel()
	parts := make([]*held, 0, td.ResourceSpans().Len())
	n, bytes, deep := 0, waiterBytes, false
	for _, rs := range td.ResourceSpans().All() {
		h := newHeld(rs, sink, due)
		h.spans, h.batch = rs, b
		parts = append(parts, h)
		n += h.n
		bytes += h.bytes
		deep = deep || h.bytes < 0
	}
	if len(parts) == 0 || deep || !a.account.hold(n, bytes) {
		for _, h := range parts {
			b.parcel.count(serviceOf(h.spans.Resource().Attributes()), a.overLimit(h, h.spans))
		}
		b.parcel.Spans = td
		b.more <- struct{}{}
		return b
	}
	b.left = len(parts)
	a.held.put(parts...)
	return b
}

func (b *Batch) newParcel() *Parcel {
	return &Parcel{Spans: ptrace.NewTraces(), Slow: plog.NewLogs(), a: b.a, sums: make(map[serviceName]*serviceSums)}
}

// More yields when there is something to take.
func (b *Batch) More() <-chan struct{} { return b.more }

// Take returns what is ready by now, which may be nothing, and whether that was
// the rest.
func (b *Batch) Take() (p *Parcel, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, b.parcel = b.parcel, b.newParcel()
	return p, b.left == 0
}

// Hurry makes all of the batch ready by the next Tick, with what is known.
func (b *Batch) Hurry() { b.hurried.Store(true) }

// joined puts the spans of h into the parcel, what there is to tell of them, and
// their sums, which it clears.
func (b *Batch) joined(h *held, more *serviceSums, told plog.Logs) {
	toldBytes := told.LogRecordCount() * slowBytes
	for _, rl := range told.ResourceLogs().All() {
		toldBytes += resourceBytes(rl.Resource())
	}
	room := toldBytes == 0 || b.a.account.hold(0, toldBytes)
	if !room && h.sink.Slow != nil {
		h.sink.Slow(told)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.parcel
	if room {
		p.bytes += toldBytes
		told.ResourceLogs().MoveAndAppendTo(p.Slow.ResourceLogs())
	}
	p.count(serviceOf(h.spans.Resource().Attributes()), more)
	h.spans.MoveTo(p.Spans.ResourceSpans().AppendEmpty())
	p.n += h.n
	p.bytes += h.bytes
	if b.left--; b.left == 0 {
		p.bytes += waiterBytes
	}
	select {
	case b.more <- struct{}{}:
	default: // it was said before, and nobody has come yet
	}
}

// count keeps the sums of spans of one service; for want of room with those of
// others.
func (p *Parcel) count(name serviceName, more *serviceSums) {
	if more.none() {
		return
	}
	if p.sums[name] == nil {
		if p.a.account.hold(0, sumsBytes) {
			p.bytes += sumsBytes
		} else {
			name = otherServices
		}
	}
	t := p.sums[name]
	if t == nil {
		t = new(serviceSums)
		p.sums[name] = t
	}
	t.take(more)
}

// Done ends a parcel. Its requests count only if it was taken: one that was not
// will come again.
func (p *Parcel) Done(taken bool) {
	for name, t := range p.sums {
		if taken {
			p.a.sums.add(name, t)
		}
	}
	p.a.account.handOn(p.n, p.bytes)
	p.n, p.bytes, p.sums = 0, 0, nil
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

// overdue reports whether nobody waits any longer.
func (h *held) overdue(now time.Time) bool {
	return !now.Before(h.due) || h.batch != nil && h.batch.hurried.Load()
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
	told := a.attribute(j, h, &v)
	if h.batch != nil {
		h.batch.joined(h, &j.sums, told) // who waits for it hands on
		return
	}
	if h.sink.Traces != nil {
		h.sink.Traces(h.whole)
	}
	if h.sink.Slow != nil && told.LogRecordCount() > 0 {
		h.sink.Slow(told)
	}
	a.account.handOn(h.n, h.bytes)
}

// overLimit counts spans that found no room, and returns the sums of the requests
// among them: they took place, and nobody will say what stalled them. What they
// brought from their own process is known all the same.
func (a *Attributor) overLimit(h *held, rs ptrace.ResourceSpans) *serviceSums {
	a.lost.overLimit.Add(uint64(h.n))
	w := writer{a: a, j: new(joiner), h: h}
	if !h.sink.Count {
		return &w.j.sums
	}
	if a.config.Count == CountAttached {
		a.mu.Lock()
		a.known.lookAnew(h)
		w.inside = a.known.view(&h.found).inside
		a.mu.Unlock()
	}
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			w.count(s, w.unseen(s))
		}
	}
	return &w.j.sums
}

// unseen returns what becomes of a span of which nothing is known from here.
func (w *writer) unseen(s ptrace.Span) *outcome {
	d, ok := duration(s)
	o := &outcome{share: &stall.Share{Total: d, Unseen: d}, odd: !ok}
	if own := w.brought(s, d); own != nil {
		o.bring(own, d)
	}
	return o
}
