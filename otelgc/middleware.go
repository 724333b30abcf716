package otelgc

import (
	"cmp"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// Middleware returns a handler that measures a window around each request of
// next. It touches neither the request, but for [WithJoinableRequests], nor the
// response, so it can stand inside or outside of other middleware. Outermost it
// sees most; inside of the one that makes the span, the window knows its span,
// for exemplars and for the trace id of a slow request.
//
// The window ends when next returns or panics. What net/http does after that,
// the flush of the last bytes, is not in it, nor is what a hijacked connection
// does later.
func (m *Monitor) Middleware(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var w openWindow
		w.begin(m)
		arrival := m.arrivalOf(r, w.start)
		w.span = trace.SpanFromContext(r.Context())
		w.mark(arrival)
		if m.requests.joinable && w.ref.slot != window.NoSlot {
			inner := r.WithContext(w.context(r.Context()))
			defer passBack(r, inner)
			r = inner
		}
		defer m.served(&w, r, arrival)
		next.ServeHTTP(rw, r)
	})
}

// passBack tells who stands outside what was noted in the request that the handler
// got: a mux its pattern, and ParseMultipartForm the files that it made, which
// net/http removes when the request is over.
func passBack(outer, inner *http.Request) {
	outer.Pattern, outer.MultipartForm = inner.Pattern, inner.MultipartForm
}

// arrivalOf returns when a request arrived, or zero. That the connection has had
// its first request is noted though a header says it better.
func (m *Monitor) arrivalOf(r *http.Request, start stall.Instant) stall.Instant {
	accepted := m.acceptedAt(r, start)
	at, fault := m.requests.arrival.of(r.Header, start, m.wallOffset())
	if fault != noFault {
		m.requests.ignored[fault].Add(1)
	}
	return cmp.Or(at, accepted)
}

// served ends the window of a request, whose route is known by now.
func (m *Monitor) served(w *openWindow, r *http.Request, arrival stall.Instant) {
	w.end(w.ref.on(m.routeOf(r)), arrival)
}
