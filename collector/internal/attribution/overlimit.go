package attribution

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// overLimit counts spans that found no room, and returns the sums of the requests
// among them: they took place, and nobody will say what stalled them. What they
// brought from their own process is known all the same.
func (a *Attributor) overLimit(h *held, rs ptrace.ResourceSpans) *serviceSums {
	a.lost.overLimit.Add(uint64(h.n))
	w := writer{a: a, j: new(joiner), h: h}
	if !h.sink.Count {
		return &w.j.sums
	}
	if a.config.Count == CountAttached {
		a.mu.Lock()
		a.known.lookAnew(h)
		w.inside = a.known.view(&h.found).inside
		a.mu.Unlock()
	}
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			w.count(s, w.unseen(s))
		}
	}
	return &w.j.sums
}

// unseen returns what becomes of a span of which nothing is known from here.
func (w *writer) unseen(s ptrace.Span) *outcome {
	d, ok := duration(s)
	o := &outcome{share: &stall.Share{Total: d, Unseen: d}, odd: !ok}
	if own := w.brought(s, d); own != nil {
		o.bring(own, d)
	}
	return o
}
