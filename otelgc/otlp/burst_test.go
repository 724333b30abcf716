package otlp_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
	"github.com/otelgc/otelgc/semconv"
)

// TestLastValues: what observed metrics say last is exported, though the program
// ends long before it is its time.
func TestLastValues(t *testing.T) {
	clearEnv(t)
	r := otlptest.NewHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
	m, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0), otelgc.WithBoard(""))
	if err != nil {
		t.Fatal(err)
	}
	const requests = 3
	for range requests {
		w := m.Begin(context.Background())
		w.End()
	}
	if err := shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	last := map[string]int64{}
	for _, metric := range r.Metrics() {
		sum := int64(0)
		for _, p := range metric.GetSum().GetDataPoints() {
			sum += p.GetAsInt()
		}
		last[metric.GetName()] = max(last[metric.GetName()], sum)
	}
	if got := last[semconv.MetricRequests]; got != requests {
		t.Errorf("%s: %d in the last export, want %d; exported: %v", semconv.MetricRequests, got, requests, last)
	}
}

// TestBurst: all spans of a busy second are exported, with their shares, by a
// flush and by the shutdown.
func TestBurst(t *testing.T) {
	clearEnv(t)
	r := otlptest.NewHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	_, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0), otelgc.WithBoard(""))
	if err != nil {
		t.Fatal(err)
	}
	// The flush has all the time that it needs, the shutdown has not.
	const burst, rest = 5000, 100
	tracer := otel.Tracer("test")
	for i := range burst + rest {
		_, span := tracer.Start(context.Background(), "work")
		span.End()
		if i == burst-1 {
			flusher := otel.GetTracerProvider().(interface{ ForceFlush(context.Context) error })
			if err := flusher.ForceFlush(context.Background()); err != nil {
				t.Fatal(err)
			}
			if n := len(r.Spans()); n != burst {
				t.Errorf("received %d spans after a flush, want %d", n, burst)
			}
		}
	}
	if err := shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := r.Spans()
	if len(got) != burst+rest {
		t.Errorf("received %d spans, want %d", len(got), burst+rest)
	}
	for _, s := range got {
		if otlptest.Attribute(s.GetAttributes(), semconv.AttrFidelity) == nil {
			t.Fatalf("a span has no share: %v", s.GetAttributes())
		}
	}
}
