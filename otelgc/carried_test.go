package otelgc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
)

// spy counts the marks that the decoder finds.
type spy struct {
	exact.Observer
	begins, ends atomic.Int64
}

func (s *spy) Generation(g *gotrace.Generation) {
	for i := range g.Marks {
		switch kind, _, ok := gotrace.ParseWindowMark(g.Marks[i].Key); {
		case ok && kind == gotrace.WindowBegin:
			s.begins.Add(1)
		case ok:
			s.ends.Add(1)
		}
	}
	s.Observer.Generation(g)
}

// TestEndsAreMarkedForOthers: another reader of the trace learns of the ends by marks.
// Without one there are none, but for a window that is older than its slice.
func TestEndsAreMarkedForOthers(t *testing.T) {
	skipIfTraced(t)
	var s spy
	m := startTest(t, WithExactBudget(1), seam(func(m *Monitor) { s.Observer, m.exact.Observer = m.exact.Observer, &s }))
	waitMarking(t, m)
	work := func() {
		waitMarking(t, m)
		for range 100 {
			w := m.Begin(t.Context())
			w.End()
			entry.Of(m).Release(entry.Of(m).Mark(0))
		}
		turnover(t, m)
	}
	until(t, "marks", func() bool { work(); return s.begins.Load() > 100 })
	if begins, ends := s.begins.Load(), s.ends.Load(); ends > begins/10 {
		t.Errorf("%d begins and %d ends, which nobody reads", begins, ends)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.TraceHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/?seconds=300", nil))
	}()
	before := s.ends.Load()
	until(t, "ends", func() bool { work(); return s.ends.Load() > before+100 })
	cancel()
	<-done
	if m.exact.Shared() {
		t.Error("the ends are marked for a reader who is gone")
	}
}
