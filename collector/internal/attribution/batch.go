package attribution

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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
