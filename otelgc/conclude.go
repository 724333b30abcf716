package otelgc

import "github.com/otelgc/otelgc/stall"

// conclude tells of a window whose share is known: to who asked for it, or as a
// request.
func (m *Monitor) conclude(e *ended, w *stall.Window, s *stall.Share) {
	if e.tell != nil {
		safely(func() { e.tell(w, s) })
		return
	}
	q := e.about.request()
	q.Share, q.Collections, q.Kind = s, s.Collections, m.kind
	m.tel.Request(&q)
	if m.slow.is(s) {
		m.tellSlow(&q, w)
	}
	if m.onWindow != nil {
		m.onWindow(w, s)
	}
}

// safely calls a function of the program. Its panic is its own, but not the
// program's end.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}
