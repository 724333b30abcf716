package otelgc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestInABubble: a test of the program's in a bubble of testing/synctest uses a
// monitor that is outside. The runtime ends who touches a channel of the bubble from
// there, and the bubble's time is not the machine's.
func TestInABubble(t *testing.T) {
	var s shares
	metrics, meters := newSums()
	m := startTest(t, WithExactBudget(1), meters, WithOnWindow(s.add))
	before := m.Begin(context.Background())
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		before.End()
		w := m.Begin(ctx)
		time.Sleep(time.Hour) // of the bubble
		w.End()
		m.Middleware(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		if err := m.Flush(ctx); err != nil {
			t.Errorf("Flush: %v", err)
		}
		if err := entry.Of(m).ResolveNow(ctx); err != nil {
			t.Errorf("ResolveNow: %v", err)
		}
		if resume, err := m.PauseExact(ctx); err != nil {
			t.Errorf("PauseExact: %v", err)
		} else {
			resume()
		}
		if entry.Of(m).Resolve(entry.Of(m).Mark(0), stall.Window{Start: 1, End: 2}, func(*stall.Window, *stall.Share) {}) {
			t.Error("Resolve took a window by the bubble's clock")
		}
		got := httptest.NewRecorder()
		m.TraceHandler().ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/", nil))
		if got.Code != http.StatusServiceUnavailable {
			t.Errorf("TraceHandler: status %d, want %d", got.Code, http.StatusServiceUnavailable)
		}
	})
	w := m.Begin(context.Background())
	w.End()
	flush(t, m)
	if len(s.all) != 1 {
		t.Errorf("%d windows were settled, want the one outside", len(s.all))
	}
	shutdown(t, m)
	if by := metrics.by(t, semconv.MetricDropped, semconv.AttrErrorType); by["clock"] != 3 {
		t.Errorf("%v windows are counted by another clock, want 3", by["clock"])
	}
}
