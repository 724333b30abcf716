package otelgc

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTraceHandler(t *testing.T) {
	skipIfTraced(t)
	for name, budget := range map[string]float64{"in a slice": 1, "on demand": 0.01} {
		t.Run(name, func(t *testing.T) {
			m := startTest(t, WithExactBudget(budget), seam(restful))
			waitMarking(t, m)
			if budget < 1 {
				turnover(t, m)
			}
			s := httptest.NewServer(m.TraceHandler())
			defer s.Close()
			r, err := s.Client().Get(s.URL + "?seconds=0.1")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Body.Close() }()
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("got status %d, %v: %s", r.StatusCode, err, body)
			}
			if !whole(t, body) {
				t.Errorf("%d bytes that are no whole trace", len(body))
			}
		})
	}
}

func TestTraceHandlerRefuses(t *testing.T) {
	off := startTest(t, WithExactBudget(0))
	for _, c := range []struct {
		m     *Monitor
		query string
		want  int
	}{
		{off, "", http.StatusServiceUnavailable},
		{nil, "", http.StatusServiceUnavailable},
		{off, "?seconds=x", http.StatusBadRequest},
		{off, "?seconds=-1", http.StatusBadRequest},
		{off, "?seconds=NaN", http.StatusBadRequest},
		{off, "?seconds=301", http.StatusBadRequest},
	} {
		rec := httptest.NewRecorder()
		c.m.TraceHandler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/"+c.query, nil))
		if rec.Code != c.want {
			t.Errorf("%q: got status %d, want %d", c.query, rec.Code, c.want)
		}
	}
}
