package otlp_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

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
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if again := shutdown(ctx); again == nil {
		t.Error("second shutdown: got no error, want the first one's")
	}
}
