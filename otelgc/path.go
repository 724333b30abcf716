package otelgc

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// path is what each request reads of a monitor. It is one line of the cache, up to where
// the queue has its tail. Between two requests the program's own work evicts it, and each
// line costs a wait. It is allocated alone, so it begins where a line does.
type path struct {
	epoch   time.Time    // Instant 0, with a monotonic reading
	marking atomic.Bool  // windows are to leave marks in a trace
	arrives atomic.Bool  // it may be known when a request arrived
	spans   atomic.Bool  // requests have spans, see learnSpan
	askFrom atomic.Int64 // nanoseconds, see spanless
	route   func(*http.Request) string
	ended   window.Queue
	_       [16]byte // to three lines: the allocator begins objects at multiples of their size
}

// now reads the clock. It copies no [stall.Clock]: that is an eighth of the cost.
func (p *path) now() stall.Instant { return stall.Instant(time.Since(p.epoch)) }

// served ends the window of a request that was not followed from its begin.
func (p *path) served(ctx context.Context, m *Monitor, r *http.Request, start stall.Instant) {
	route := m.routeOf(r) // it is known by now
	end := p.now()
	name, asked := m.spanOf(ctx, start, end)
	if p.marking.Load() {
		w := openWindow{ref: &m.windows.outside, start: start}
		w.endMarked(w.ref.on(route), 0, name, asked)
		return
	}
	p.leave(start, end, 0, route, name, asked)
}

// leave leaves a window without a slot to be resolved. Asked is the tag of a request whose
// context was asked for its span.
func (p *path) leave(start, end, arrival stall.Instant, route window.Route, name window.SpanName, asked uint64) {
	if b, i := p.ended.Reserve(); b != nil { // nearly always
		c := b.Cell(i)
		c.Fill(start, arrival, start, name.SpanIDs)
		c.Publish(end, window.Tag(window.NoSlot, route, name.Flags)|asked)
	}
}

// A context without a span looks for it in its whole chain, which costs as much as all else
// that is done for a request. So after so many requests without a span only one in
// askSpanOf is asked, and those that took askFrom, or that a hook is told of with its span.
// While a slice is traced all are: a stop in what is still to do may make any of them slow.
// The others have no exemplars, until one is found with a span.
const (
	spanless  = 1000
	askSpanOf = 64
	askFrom   = time.Millisecond
)

// spanOf returns the name of a request's span, and the tag of a request whose context was
// asked; neither if it was not. The handler has answered: a panic of the context, or of the
// span, must not cost the answer.
func (m *Monitor) spanOf(ctx context.Context, begin, end stall.Instant) (name window.SpanName, asked uint64) {
	p := m.path
	if !p.spans.Load() && !p.marking.Load() && int64(end-begin) < p.askFrom.Load() && !sampled(begin) {
		return name, 0
	}
	m.operator.safely("window", "the span of a request's context", func() { name = window.NameOf(trace.SpanFromContext(ctx)) })
	return name, window.Asked
}

// sampled is true of one instant in askSpanOf, also where the clock counts in steps: the
// bits of t are mixed (Knuth, The Art of Computer Programming, 6.4, multiplicative hashing).
func sampled(t stall.Instant) bool { return uint64(t)*0x9E3779B97F4A7C15>>32%askSpanOf == 0 }

// learnSpan takes in whether a request that was asked had a span.
func (m *Monitor) learnSpan(had bool) {
	m.windows.spanless = min(m.windows.spanless+1, spanless)
	if had {
		m.windows.spanless = 0
	}
	if asks := m.windows.spanless < spanless; asks != m.path.spans.Load() {
		m.path.spans.Store(asks)
	}
}
