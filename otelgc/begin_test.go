package otelgc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// sums reads a metric of a test, summed by the value of one attribute.
type sums struct{ reader *sdkmetric.ManualReader }

func newSums() (*sums, Option) {
	s := &sums{sdkmetric.NewManualReader()}
	return s, WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader)))
}

func (s *sums) by(t *testing.T, metric, key string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	add := func(set attribute.Set, v float64) {
		value, _ := set.Value(attribute.Key(key))
		got[value.AsString()] += v
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != metric {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			}
		}
	}
	return got
}

func (s *sums) total(t *testing.T, metric string) (total float64) {
	t.Helper()
	for _, v := range s.by(t, metric, "") {
		total += v
	}
	return total
}

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
			}
			w.End()
			flush(t, m)
			if got := metrics.total(t, stall.MetricRequests); got != n+1 {
				t.Errorf("%v requests, want %d", got, n+1)
			}
			whole, owned := metrics.total(t, stall.MetricRequestTime), metrics.total(t, stall.MetricRequestStallTime)
			if d := whole - owned; whole == 0 || d > 1e-6 || d < -1e-6 {
				t.Errorf("%v s of requests, %v s by owner", whole, owned)
			}
			if got := metrics.by(t, stall.MetricRequests, stall.AttrRoute)["cron"]; got != 1 {
				t.Errorf("%v requests of the route, want 1", got)
			}
			if got := metrics.by(t, stall.MetricRequests, stall.AttrGCOverlap)["several_collections"]; got < 1 {
				t.Errorf("%v requests were delayed by several collections, want 1 at least", got)
			}
		})
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
	flush(t, m)
	if got := metrics.total(t, stall.MetricRequests); got != 2 {
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
			left := m.slots.left()
			w := m.Begin(t.Context())
			w.SetRoute("first")
			w.SetRoute("second")
			w.End()
			w.SetRoute("late")
			flush(t, m)
			if got := metrics.by(t, stall.MetricRequests, stall.AttrRoute); got["second"] != 1 || len(got) != 1 {
				t.Errorf("requests by route %v, want one of the second", got)
			}
			if n := m.slots.left(); n != left {
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
	m.Release(m.Mark())
	if m.Resolve(Mark{}, stall.Window{}, func(*stall.Window, *stall.Share) {}) {
		t.Error("a nil Monitor took a window")
	}
}

// TestCopiesShareNoSlot: a copy of a window that has ended must not give its
// slot to two others.
func TestCopiesShareNoSlot(t *testing.T) {
	s := newSlots(nil)
	slot := s.take()
	const held = 7
	s.publish(openWindow{slot: slot, held: held, start: held})
	if !s.claim(slot, held) {
		t.Fatal("a window cannot claim its slot")
	}
	s.give(slot, 1)
	if s.claim(slot, held) {
		t.Error("a slot was claimed twice by one window")
	}
	if s.publish(openWindow{slot: slot, held: held + 1}); s.claim(slot, held) {
		t.Error("a slot was claimed by the window before")
	}
	if s.claim(noSlot, held) {
		t.Error("no slot was claimed")
	}
}

// TestReclaim: windows that last for ever do not keep the others from being
// followed, and end without harm.
func TestReclaim(t *testing.T) {
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	old := m.Begin(context.Background())
	if old.w.home.slot == noSlot {
		t.Fatal("the first window has no slot")
	}
	later := m.clock.Now().Add(2 * longHeld)
	if n := m.slots.reclaim(later); n != 0 {
		t.Errorf("reclaimed %d slots though there are plenty", n)
	}
	var marks []Mark
	for range slotCount - 1 {
		marks = append(marks, m.Mark())
	}
	if w := m.Begin(context.Background()); w.w.home.slot != noSlot {
		t.Error("a slot too many")
	}
	if n := m.slots.reclaim(m.clock.Now()); n != 0 {
		t.Errorf("reclaimed %d slots of young windows", n)
	}
	if n := m.slots.reclaim(later); n != slotCount {
		t.Errorf("reclaimed %d slots, want all %d", n, slotCount)
	}
	for _, k := range marks {
		m.Release(k)
	}
	old.End()
	seen := make(map[int16]bool)
	for range slotCount {
		slot := m.slots.take()
		if slot == noSlot || seen[slot] {
			t.Fatalf("slot %d was given twice", slot)
		}
		seen[slot] = true
	}
	for slot := range seen {
		m.slots.give(slot, m.now())
	}
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
			flush(t, m)
			if len(got.all) != 10 {
				t.Errorf("%d windows, want 10", len(got.all))
			}
		})
	}
}

// TestJoin: the time of a window that waits for a child that joined is the
// child's; without joining, waiting is the program's own doing.
func TestJoin(t *testing.T) {
	for name, join := range map[string]bool{"joined": true, "not joined": false} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
			waitMarking(t, m)
			w, opened := m.Begin(context.Background()), time.Now()
			ctx := context.Background()
			if join {
				ctx = w.Context(ctx)
			}
			computeBeside(ctx, opened)
			w.End()
			flush(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			if join && s.App > s.Total/2 || !join && s.AppOrHost > s.Total/2 {
				t.Errorf("joined %v: %s", join, s.Explain())
			}
		})
	}
}

// TestJoinRequest: a goroutine that a handler starts joins by the context of its
// request, for who asks for that; else the request is handed on as it came.
func TestJoinRequest(t *testing.T) {
	for name, opts := range map[string][]Option{"joinable": {WithJoinableRequests()}, "not asked for": nil} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, append(opts, WithExactBudget(1), WithOnWindow(got.add))...)
			waitMarking(t, m)
			asked := httptest.NewRequest(http.MethodGet, "/", nil)
			opened := time.Now()
			m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if len(opts) == 0 && r != asked {
					t.Error("the request is another one")
				}
				r.Pattern = "GET /orders"
				computeBeside(r.Context(), opened)
			})).ServeHTTP(httptest.NewRecorder(), asked)
			if asked.Pattern != "GET /orders" {
				t.Errorf("who stands outside is told pattern %q", asked.Pattern)
			}
			flush(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			// What waits for its own doing is the program's, and what computes
			// on a machine that nobody watches may be the host's.
			if joined := s.AppOrHost > s.App; joined != (len(opts) > 0) {
				t.Errorf("joined %v: %s", joined, s.Explain())
			}
		})
	}
}

// computeBeside has a goroutine compute that joins the window of ctx, for longer
// than it took to get a CPU, however long that was.
func computeBeside(ctx context.Context, opened time.Time) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer Join(ctx)()
		begin := time.Now()
		for least := 50*time.Millisecond + 3*begin.Sub(opened); time.Since(begin) < least; {
		}
	}()
	<-done
}

func waitMarking(t *testing.T, m *Monitor) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !m.exact.marking(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no slice began in a minute")
		}
	}
}
