package otelgc

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestPprofTrace asks for /debug/pprof/trace, the handler of the standard library,
// beside us: within a slice it is told that the tracer is in use, and the slice
// goes on unharmed; between two slices it has the tracer, its trace is whole, and
// what we did not see meanwhile is unseen.
func TestPprofTrace(t *testing.T) {
	skipIfTraced(t)
	get := func(t *testing.T) (int, []byte) {
		t.Helper()
		s := httptest.NewServer(http.HandlerFunc(pprof.Trace))
		defer s.Close()
		r, err := s.Client().Get(s.URL + "?seconds=0.1")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, body
	}
	t.Run("within a slice", func(t *testing.T) {
		var lost losses
		m := startTest(t, WithExactBudget(1), seam(lost.seam))
		waitMarking(t, m)
		from := m.here.clock.Now()
		if code, body := get(t); code != http.StatusInternalServerError || !strings.Contains(string(body), "execution tracer already enabled") {
			t.Errorf("got status %d, %.200q, want 500 and why", code, body)
		}
		to := m.here.clock.Now()
		if !m.exact.Marking() {
			t.Error("the slice ended")
		}
		turnover(t, m)
		until(t, "the time to be decoded", func() bool { return m.timeline.Exact.Watermark() > to })
		if seen := m.timeline.Exact.Coverage(stall.Span{Start: from, End: to}); seen != 1 {
			t.Errorf("coverage meanwhile: got %v, want 1", seen)
		}
		if n := lost.of("slice tracer_lost"); n > 0 {
			t.Errorf("the tracer was lost %d times", n)
		}
	})
	t.Run("between slices", func(t *testing.T) {
		m := startTest(t, WithExactBudget(0.01), seam(restful))
		waitMarking(t, m)
		turnover(t, m)
		from := m.here.clock.Now()
		code, body := get(t)
		to := m.here.clock.Now()
		if code != http.StatusOK || !whole(t, body) {
			t.Errorf("got status %d and %d bytes, want a whole trace", code, len(body))
		}
		flush(t, m)
		if seen := m.timeline.Exact.Coverage(stall.Span{Start: from, End: to}); seen != 0 {
			t.Errorf("coverage meanwhile: got %v, want 0", seen)
		}
	})
}
