package otelgc

import (
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// conclude tells of a window whose share is known: to who asked for it, or as a
// request.
func (m *Monitor) conclude(e *ended, w *stall.Window, s *stall.Share) {
	if e.tell != nil {
		safely(func() { e.tell(w, s) })
		return
	}
	q := telemetry.Request{
		Share: s, Collections: s.Collections, Kind: m.kind,
		Span: e.span.context(), Route: m.routes.name(e.route),
	}
	m.tel.Request(&q)
	if m.slow.is(s) {
		m.tellSlow(&q, w)
	}
	if m.onWindow != nil {
		safely(func() { m.onWindow(w, s) })
	}
}

// safely calls a function of the program. Its panic is its own, but not the
// program's end.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}
