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

// path is what each request reads of a monitor: one line of the cache, up to where the
// queue has its tail. Of what the last request read, the program's work has left little
// there, and each line is waited for. It is allocated by itself, so that it begins where a
// line does.
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

// now reads the clock, without a copy of [stall.Clock], which is an eighth of what that
// costs.
func (p *path) now() stall.Instant { return stall.Instant(time.Since(p.epoch)) }

// served ends the window of a request that was not to be followed.
func (p *path) served(ctx context.Context, m *Monitor, r *http.Request, start stall.Instant) {
	end, route, span := p.now(), noRoute, trace.Span(nil)
	if p.route != nil {
		route = m.routeOf(r) // it is known by now
	}
	if p.asks(start, end) {
		span = trace.SpanFromContext(ctx)
	}
	if p.marking.Load() {
		w := openWindow{&m.windows.outside, start, span}
		w.endMarked(w.ref.on(route), 0)
		return
	}
	p.leave(start, end, 0, route, span)
}

// A context without a span looks for it in its whole chain, which costs as much as all else
// that is done for a request. So where so many windows in a row had no span, it is asked of
// one request of some, and of those that took so long or that a hook is to see. The others
// have no exemplars then, until one is found with a span.
const (
	spanless  = 1000
	askSpanOf = 64
	askFrom   = time.Millisecond
)

// asks reports whether the context of a request is asked for its span.
func (p *path) asks(start, end stall.Instant) bool {
	return p.spans.Load() || start%askSpanOf == 0 || int64(end-start) >= p.askFrom.Load()
}

// learnSpan takes in whether a window had a span.
func (m *Monitor) learnSpan(had bool) {
	m.windows.spanless++
	if had {
		m.windows.spanless = 0
	}
	if asks := m.windows.spanless < spanless; asks != m.path.spans.Load() {
		m.path.spans.Store(asks)
	}
}

// leave leaves a window without a slot to be resolved.
func (p *path) leave(start, end, arrival stall.Instant, route window.Route, span trace.Span) {
	var name window.SpanName
	if span != nil {
		name = window.NameOf(span)
	}
	if b, i := p.ended.Reserve(); b != nil { // nearly always
		c := b.Cell(i)
		c.Fill(start, arrival, start, name.SpanIDs)
		c.Publish(end, window.Tag(window.NoSlot, route, name.Flags))
	}
}
