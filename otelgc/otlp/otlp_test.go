package otlp_test

import (
	"context"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) {
	if os.Getenv(deadCollectorEnv) == "" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	}
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
			if got := r.Spans(); len(got) != 1 || got[0].GetName() != "work" || got[0].Resource[semconv.AttrBootID] != boot {
				t.Errorf("received spans %v, want one, work, of this boot", got)
			} else if f := otlptest.Attribute(got[0].GetAttributes(), semconv.AttrFidelity).GetStringValue(); f != "cycle" {
				t.Errorf("fidelity of the span: got %q, want cycle: %v", f, got[0].GetAttributes())
			}
		})
	}
}

func checkEvents(t *testing.T, r *otlptest.Receiver, boot string) {
	t.Helper()
	seen := make(map[string]int)
	for _, l := range r.Logs() {
		seen[l.GetEventName()]++
		if got := otlptest.Attribute(l.GetAttributes(), semconv.AttrBootID).GetStringValue(); got != boot {
			t.Errorf("%s: boot id of the record: got %q, want %q", l.GetEventName(), got, boot)
		}
		if l.Resource[semconv.AttrBootID] != boot || l.Resource["service.name"] != "shop" {
			t.Errorf("%s: resource %v, want boot id %s and service shop", l.GetEventName(), l.Resource, boot)
		}
	}
	for _, want := range []string{semconv.EventCollection, semconv.EventSourceStatus} {
		if seen[want] == 0 {
			t.Errorf("received no %s, only %v", want, seen)
		}
	}
}

func checkMetrics(t *testing.T, r *otlptest.Receiver, boot string) {
	t.Helper()
	samples := make(map[string]uint64)
	for _, m := range r.Metrics() {
		if m.Resource[semconv.AttrBootID] != boot {
			t.Errorf("%s: resource %v, want boot id %s", m.GetName(), m.Resource, boot)
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			samples[m.GetName()] += p.GetCount()
		}
	}
	for _, want := range []string{semconv.MetricPauseDuration, semconv.MetricGoPauseDuration} {
		if samples[want] == 0 {
			t.Errorf("received no sample of %s, only %v", want, samples)
		}
	}
}

func TestDetector(t *testing.T) {
	r, err := resource.New(context.Background(), resource.WithDetectors(otlp.Detector()))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Set().Value(semconv.AttrProcessPID); !ok {
		t.Errorf("got %v, want a %s in it", r, semconv.AttrProcessPID)
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

// A service that makes its own providers gives their resource what places the process
// on the clock of its host.
func ExampleDetector() {
	r, err := resource.New(context.Background(), resource.WithFromEnv(), resource.WithDetectors(otlp.Detector()))
	if err != nil {
		log.Fatal(err)
	}
	_ = sdkmetric.NewMeterProvider(sdkmetric.WithResource(r))
}
