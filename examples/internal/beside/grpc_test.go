package beside

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/gcgrpc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

// healthy answers at once, and streams three answers.
type healthy struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (healthy) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func (healthy) Watch(_ *grpc_health_v1.HealthCheckRequest, s grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	for range 3 {
		if err := s.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) hold(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), s)
}

// TestGRPC: beside otelgrpc's handler in either order, under load and always
// traced, each call is one window, which knows its span.
func TestGRPC(t *testing.T) {
	for name, first := range map[string]bool{"otelgc first": true, "otelgrpc first": false} {
		t.Run(name, func(t *testing.T) { testGRPC(t, first) })
	}
}

func testGRPC(t *testing.T, first bool) {
	var got windows
	var said lines
	m := start(t, otelgc.WithExactBudget(1), otelgc.WithOnWindow(got.add),
		otelgc.WithSlowRequest(0, slog.New(slog.NewTextHandler(&said, nil))))
	out := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
		spans.NewProcessor(m, sdktrace.NewSimpleSpanProcessor(out))))
	opts := []grpc.ServerOption{
		grpc.StatsHandler(gcgrpc.NewServerHandler(m)),
		grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(tracers))),
	}
	if !first {
		slices.Reverse(opts)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(s, healthy{})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) })
	stop := collecting()
	const clients, rounds = 4, 20
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() { call(t, l.Addr().String(), rounds) })
	}
	wg.Wait()
	s.GracefulStop()
	served.Wait()
	stop()
	waitWindows(t, m, &got, 2*clients*rounds)
	waitSpans(t, tracers, out, 2*clients*rounds)
	if err := tracers.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); !said.hold("trace_id="); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no window knows its span")
		}
	}
}

// call makes so many calls of each kind.
func call(t *testing.T, addr string, rounds int) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	health := grpc_health_v1.NewHealthClient(conn)
	for range rounds {
		if _, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
		watch, err := health.Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		for err == nil {
			_, err = watch.Recv()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}
