package otelgc

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Window is the time of one piece of work: a message of a queue, a run of a cron
// job, anything that is no HTTP request. [Monitor.Begin] opens it and
// [Window.End] closes it. It is a value of the stack:
//
//	w := m.Begin(ctx)
//	defer w.End()
//
// Begin belongs on the goroutine that does the work, for its states are what exact
// fidelity follows. Windows that lie within each other, of one goroutine or
// of a request and what Begin opens in its handler, are each counted: what stalls both
// counts twice in otelgc.request.*. Do not copy a Window that has begun: the copy
// would end as a window of its own. go vet finds copies. The zero Window is over.
type Window struct {
	_ noCopy
	w openWindow // over if it has no ref
}

// noCopy has go vet find copies (cmd/vet, copylocks). It takes no memory.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Begin opens a window on the calling goroutine. It takes the span of ctx, for
// exemplars, which it holds until End, and nothing else of ctx. It does not
// allocate.
func (m *Monitor) Begin(ctx context.Context) Window {
	if m == nil {
		return Window{}
	}
	span := trace.SpanFromContext(ctx)
	if m.exact.marking() {
		return m.beginMarked(span)
	}
	return Window{w: openWindow{&m.windows.outside, m.now.instant(), span}}
}

func (m *Monitor) beginMarked(span trace.Span) (w Window) {
	w.w.span = span
	w.w.begin(m)
	w.w.mark(0)
	return
}

// End closes the window, from any goroutine; it counts as one request. A second End
// does nothing. A window that is older than the slice of exact tracing in which it
// ends was not followed.
func (w *Window) End() {
	if h := w.w.ref; h != nil {
		w.w.ref = nil
		w.w.endAnywhere(h)
		w.w.span = nil
	}
}

// SetRoute names the kind of the work, for the attribute http.route of the
// window's metrics. Names are bounded in number as those of [WithRoute] are. It
// is to be called before End.
func (w *Window) SetRoute(name string) {
	if h := w.w.ref; h != nil {
		w.w.ref = h.on(h.m.requests.routes.id(name))
	}
}
