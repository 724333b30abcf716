package stallconnector

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/semconv"
)

// TestWhole: each span leaves once, with its charges; it counts once; and a slow
// one is told once.
func TestWhole(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.SlowSpan = 10 * time.Millisecond
	w, stop := newWhole(t, config)
	w.spans(t, request())
	if err := w.events.ConsumeLogs(context.Background(), watched()); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if w.toTraces.SpanCount() > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if got := w.toTraces.SpanCount(); got != 1 {
		t.Fatalf("got %d spans, want 1", got)
	}
	m := w.toTraces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	if v, _ := m.Get("otelgc.stall.gc.pause"); v.Double() != 3e-3 {
		t.Errorf("gc.pause: got %v s, want 0.003", v.Double())
	}
	if got := w.toLogs.LogRecordCount(); got != 1 {
		t.Errorf("got %d events of slow spans, want 1", got)
	}
	all := w.toMetrics.AllMetrics()
	if len(all) == 0 {
		t.Fatal("no metrics")
	}
	metrics := all[len(all)-1].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	for _, m := range metrics.All() {
		if m.Name() == semconv.MetricRequests {
			if got := m.Sum().DataPoints().At(0).IntValue(); got != 1 {
				t.Errorf("requests: got %d, want 1", got)
			}
		}
	}
}

// TestShutdownLosesNothing: what is held goes on when the connector stops.
func TestShutdownLosesNothing(t *testing.T) {
	w, stop := newWhole(t, createDefaultConfig().(*Config))
	for range 100 {
		w.spans(t, request())
	}
	stop()
	if got := w.toTraces.SpanCount(); got != 100 {
		t.Errorf("got %d spans, want 100", got)
	}
}

// TestConcurrent: senders of both signals at once, for the race detector.
func TestConcurrent(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.Wait, config.MetricsInterval = 10*time.Millisecond, 10*time.Millisecond
	w, stop := newWhole(t, config)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				w.spans(t, request())
				_ = w.events.ConsumeLogs(context.Background(), watched())
			}
		})
	}
	wg.Wait()
	stop()
	if got := w.toTraces.SpanCount(); got != 800 {
		t.Errorf("got %d spans, want 800", got)
	}
}

// TestTwoComponents of one factory share nothing.
func TestTwoComponents(t *testing.T) {
	ctx, f, config := context.Background(), NewFactory(), createDefaultConfig()
	one, two := new(consumertest.TracesSink), new(consumertest.TracesSink)
	a, err := f.CreateTracesToTraces(ctx, settings(), config, one)
	if err != nil {
		t.Fatal(err)
	}
	other := settings()
	other.ID = component.NewIDWithName(metadata.Type, "two")
	b, err := f.CreateTracesToTraces(ctx, other, config, two)
	if err != nil {
		t.Fatal(err)
	}
	stop := lifecycle(t, a, b)
	if err := a.ConsumeTraces(ctx, request()); err != nil {
		t.Fatal(err)
	}
	stop()
	if one.SpanCount() != 1 || two.SpanCount() != 0 {
		t.Errorf("got %d and %d spans, want 1 and 0", one.SpanCount(), two.SpanCount())
	}
}
