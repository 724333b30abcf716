package otelgc

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestWindowsAreRequests: each window counts once, its time has owners, and one
// that a forced collection paused has met one or several.
func TestWindowsAreRequests(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			metrics, provider := newSums()
			m := startTest(t, provider, WithExactBudget(budget))
			const n, forced = 200, 3
			for range n {
				w := m.Begin(context.Background())
				w.End()
				w.End()
			}
			w := m.Begin(context.Background())
			w.SetRoute("cron")
			for range forced {
				runtime.GC()
				if budget == 0 { // of cycles in one notice only the last has a place
					awaitNotice(t, m)
				}
			}
			w.End()
			settle(t, m)
			if got := metrics.total(t, semconv.MetricRequests); got != n+1 {
				t.Errorf("%v requests, want %d", got, n+1)
			}
			whole, owned := metrics.total(t, semconv.MetricRequestTime), metrics.total(t, semconv.MetricRequestStallTime)
			if d := whole - owned; whole == 0 || d > 1e-6 || d < -1e-6 {
				t.Errorf("%v s of requests, %v s by owner", whole, owned)
			}
			if got := metrics.by(t, semconv.MetricRequests, semconv.AttrRoute)["cron"]; got != 1 {
				t.Errorf("%v requests of the route, want 1", got)
			}
			if got := metrics.by(t, semconv.MetricRequests, semconv.AttrGCOverlap)["several_collections"]; got < 1 {
				t.Errorf("%v requests were delayed by several collections, want 1 at least", got)
			}
		})
	}
}

// awaitNotice waits until the monitor knows of all collections so far.
func awaitNotice(t *testing.T, m *Monitor) {
	t.Helper()
	var s debug.GCStats
	debug.ReadGCStats(&s)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if list, _ := m.Collections(uint64(s.NumGC) - 1); len(list) > 0 {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("collection %d is not known", s.NumGC)
		}
	}
}

// TestOnWindowPanics: what the program's function does is its own affair.
func TestOnWindowPanics(t *testing.T) {
	metrics, provider := newSums()
	m := startTest(t, provider, WithExactBudget(0), WithOnWindow(func(*stall.Window, *stall.Share) { panic("mine") }))
	for range 2 {
		w := m.Begin(t.Context())
		w.End()
	}
	settle(t, m)
	if got := metrics.total(t, semconv.MetricRequests); got != 2 {
		t.Errorf("%v requests, want 2", got)
	}
}

// TestRouteOfAWindow: a route that is given while a slice is traced is told as
// one that is given outside, and the slot is given back all the same.
func TestRouteOfAWindow(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			metrics, provider := newSums()
			m := startTest(t, provider, WithExactBudget(budget))
			if budget > 0 {
				waitMarking(t, m)
			}
			left := m.windows.Slots.Left()
			w := m.Begin(t.Context())
			w.SetRoute("first")
			w.SetRoute("second")
			w.End()
			w.SetRoute("late")
			settle(t, m)
			if got := metrics.by(t, semconv.MetricRequests, semconv.AttrRoute); got["second"] != 1 || len(got) != 1 {
				t.Errorf("requests by route %v, want one of the second", got)
			}
			if n := m.windows.Slots.Left(); n != left {
				t.Errorf("%d slots are left, want %d", n, left)
			}
		})
	}
}

// TestWindowsOfNobody: the zero Window and those of no Monitor do nothing.
func TestWindowsOfNobody(t *testing.T) {
	var zero Window
	zero.End()
	var m *Monitor
	ctx := context.Background()
	w := m.Begin(ctx)
	if got := w.Context(ctx); got != ctx {
		t.Error("a window of nobody has a context of its own")
	}
	w.SetRoute("x")
	w.End()
	Join(ctx)()
}

// broken is a span of which nothing can be asked.
type broken struct{ trace.Span }

// TestBrokenSpan: the panic of a span is the program's own; the windows after
// that one are told all the same.
func TestBrokenSpan(t *testing.T) {
	for name, budget := range map[string]float64{"outside": 0, "inside": 1} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, WithExactBudget(budget), WithOnWindow(got.add))
			if budget > 0 {
				waitMarking(t, m)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the span did not panic")
					}
				}()
				w := m.Begin(trace.ContextWithSpan(context.Background(), broken{}))
				defer w.End()
			}()
			for range 10 {
				w := m.Begin(context.Background())
				w.End()
			}
			settle(t, m)
			if len(got.all) != 10 {
				t.Errorf("%d windows, want 10", len(got.all))
			}
		})
	}
}
