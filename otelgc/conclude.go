package otelgc

import (
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// conclude tells of a window whose share is known: to who asked for it, or as a
// request.
func (m *Monitor) conclude(e *ended, w *stall.Window, s *stall.Share) {
	if e.tell != nil {
		m.panics.safely("window", "a function of Monitor.Resolve", func() { e.tell(w, s) })
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
		m.panics.safely("on_window", "the function of WithOnWindow", func() { m.onWindow(w, s) })
	}
}
