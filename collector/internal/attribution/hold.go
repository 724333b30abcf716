package attribution

import (
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
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
