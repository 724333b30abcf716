package otlp_test

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	os.Exit(m.Run())
}

// clearEnv takes every OTEL_* variable away for the time of the test.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "") // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestStart: a collection arrives as an event and in the pause histogram, with
// one boot id, over a real socket.
func TestStart(t *testing.T) {
	boot, err := stall.BootID()
	if err != nil {
		t.Skipf("no boot id on this system: %v", err)
	}
	for protocol, receiver := range map[string]func(testing.TB) *otlptest.Receiver{
		"grpc": otlptest.NewGRPC, "http/protobuf": otlptest.NewHTTP,
	} {
		t.Run(protocol, func(t *testing.T) {
			clearEnv(t)
			r := receiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_SERVICE_NAME", "shop")
			_, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0), otelgc.WithBoard(""))
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			_, span := otel.Tracer("test").Start(context.Background(), "work")
			span.End()
			if err := shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := shutdown(context.Background()); err != nil {
				t.Errorf("second shutdown: %v", err)
			}
			checkEvents(t, r, boot)
			checkMetrics(t, r, boot)
			if got := r.Spans(); len(got) != 1 || got[0].GetName() != "work" || got[0].Resource[stall.AttrBootID] != boot {
				t.Errorf("received spans %v, want one, work, of this boot", got)
			} else if f := otlptest.Attribute(got[0].GetAttributes(), stall.AttrFidelity).GetStringValue(); f != "cycle" {
				t.Errorf("fidelity of the span: got %q, want cycle: %v", f, got[0].GetAttributes())
			}
		})
	}
}

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
	if got := last[stall.MetricRequests]; got != requests {
		t.Errorf("%s: %d in the last export, want %d; exported: %v", stall.MetricRequests, got, requests, last)
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
		if otlptest.Attribute(s.GetAttributes(), stall.AttrFidelity) == nil {
			t.Fatalf("a span has no share: %v", s.GetAttributes())
		}
	}
}

func checkEvents(t *testing.T, r *otlptest.Receiver, boot string) {
	t.Helper()
	seen := make(map[string]int)
	for _, l := range r.Logs() {
		seen[l.GetEventName()]++
		if got := otlptest.Attribute(l.GetAttributes(), stall.AttrBootID).GetStringValue(); got != boot {
			t.Errorf("%s: boot id of the record: got %q, want %q", l.GetEventName(), got, boot)
		}
		if l.Resource[stall.AttrBootID] != boot || l.Resource["service.name"] != "shop" {
			t.Errorf("%s: resource %v, want boot id %s and service shop", l.GetEventName(), l.Resource, boot)
		}
	}
	for _, want := range []string{stall.EventCollection, stall.EventSourceStatus} {
		if seen[want] == 0 {
			t.Errorf("received no %s, only %v", want, seen)
		}
	}
}

func checkMetrics(t *testing.T, r *otlptest.Receiver, boot string) {
	t.Helper()
	samples := make(map[string]uint64)
	for _, m := range r.Metrics() {
		if m.Resource[stall.AttrBootID] != boot {
			t.Errorf("%s: resource %v, want boot id %s", m.GetName(), m.Resource, boot)
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			samples[m.GetName()] += p.GetCount()
		}
	}
	for _, want := range []string{stall.MetricPauseDuration, stall.MetricGoPauseDuration} {
		if samples[want] == 0 {
			t.Errorf("received no sample of %s, only %v", want, samples)
		}
	}
}

// TestSecondStart: it is refused, and the first goes on.
func TestSecondStart(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	_, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	meters := otel.GetMeterProvider()
	if m, _, err := otlp.Start(context.Background()); !errors.Is(err, otelgc.ErrStarted) || m != nil {
		t.Errorf("second start: got %v, %v, want %v", m, err, otelgc.ErrStarted)
	}
	if otel.GetMeterProvider() != meters {
		t.Error("the refused start set the global provider")
	}
	if err := shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestStartRefuses(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	m, _, err := otlp.Start(context.Background())
	if err == nil || m != nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v, %v, want an error of one line", m, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	_, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatalf("start after a refusal: %v", err)
	}
	if err := shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestDeadCollector: somebody listens and never answers. That shutdown returns
// is what go test's own limit checks.
func TestDeadCollector(t *testing.T) {
	clearEnv(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	_, shutdown, err := otlp.Start(context.Background(), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	err = shutdown(context.Background())
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want one of one line that the time was over", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if again := shutdown(ctx); again == nil {
		t.Error("second shutdown: got no error, want the first one's")
	}
}

func TestDetector(t *testing.T) {
	r, err := resource.New(context.Background(), resource.WithDetectors(otlp.Detector()))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Set().Value(stall.AttrProcessPID); !ok {
		t.Errorf("got %v, want a %s in it", r, stall.AttrProcessPID)
	}
}

func ExampleStart() {
	m, shutdown, err := otlp.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = shutdown(context.Background()) }()

	log.Fatal(http.ListenAndServe("localhost:8080", m.Middleware(http.NotFoundHandler())))
}
