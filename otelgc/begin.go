package otelgc

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/telemetry"
)

// Window is the time of one piece of work: a message of a queue, a run of a cron
// job, anything that is no HTTP request. [Monitor.Begin] opens it and
// [Window.End] closes it. It is a value of the stack:
//
//	w := m.Begin(ctx)
//	defer w.End()
//
// Begin and End belong on the goroutine that does the work, for its states are
// what exact fidelity follows. Do not copy a Window that has begun: the copy
// would end as a window of its own. The zero Window is over.
type Window struct {
	w    window
	open bool
}

// Begin opens a window on the calling goroutine. It takes the span of ctx, for
// exemplars, and keeps nothing else of it. It does not allocate.
func (m *Monitor) Begin(ctx context.Context) (w Window) {
	if m == nil {
		return w
	}
	w.w.about.spanOf(ctx)
	w.open = true
	w.w.begin(m)
	w.w.mark()
	return w
}

// End closes the window; it counts as one request. A second End does nothing.
func (w *Window) End() {
	if !w.open {
		return
	}
	w.open = false
	w.w.end()
}

// EndAnywhere is [Window.End] for who may not be on the goroutine that began the
// window. A window that is older than the slice of exact tracing has no
// goroutine then, for nobody marked it.
func (w *Window) EndAnywhere() {
	if !w.open {
		return
	}
	w.open = false
	w.w.endAnywhere()
}

// SetRoute names the kind of the work, for the attribute http.route of the
// window's metrics. Names are bounded in number as those of [WithRoute] are. It
// is to be called before End.
func (w *Window) SetRoute(name string) { w.w.about.route = name }

// about is what is known of a window besides its time. It holds no pointer but
// the route's, so that queues of windows are cheap to scan.
type about struct {
	trace trace.TraceID
	span  trace.SpanID
	flags trace.TraceFlags
	route string
}

// spanOf takes the span of ctx, never ctx: that would be kept alive.
func (a *about) spanOf(ctx context.Context) {
	s := trace.SpanFromContext(ctx).SpanContext()
	a.trace, a.span, a.flags = s.TraceID(), s.SpanID(), s.TraceFlags()
}

func (a *about) request() telemetry.Request {
	return telemetry.Request{
		Span: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: a.trace, SpanID: a.span, TraceFlags: a.flags,
		}),
		Route: a.route,
	}
}
