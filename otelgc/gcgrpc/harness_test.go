package gcgrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// healthy is a service with a unary and a streaming method.
type healthy struct {
	grpc_health_v1.UnimplementedHealthServer
	work func(context.Context) error
}

func (h *healthy) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, h.work(ctx)
}

func (h *healthy) Watch(_ *grpc_health_v1.HealthCheckRequest, s grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	for range 3 {
		if err := s.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	return h.work(s.Context())
}

// told collects the windows.
type told struct {
	mu  sync.Mutex
	all []stall.Share
}

func (t *told) add(_ *stall.Window, s *stall.Share) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, *s)
}

func start(t *testing.T, opts ...otelgc.Option) *otelgc.Monitor {
	t.Helper()
	noleak.Check(t)
	m, err := otelgc.Start(append([]otelgc.Option{otelgc.WithBoard("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// flush ends a slice that is traced, or else what it saw would be known when its
// second is over.
func flush(t *testing.T, m *otelgc.Monitor) {
	t.Helper()
	resume, err := m.PauseExact(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	resume()
	if err := m.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// dial serves h over a pipe, and returns a connection to it.
func dial(t testing.TB, work func(context.Context) error, server []grpc.ServerOption, client ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(server...)
	grpc_health_v1.RegisterHealthServer(s, &healthy{work: work})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	conn, err := grpc.NewClient("passthrough:pipe", append(client,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
		wg.Wait()
	})
	return conn
}

func watch(t *testing.T, conn *grpc.ClientConn) (n int, err error) {
	t.Helper()
	s, err := grpc_health_v1.NewHealthClient(conn).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// waitWindows waits until n windows have ended; a server ends its own after the
// client has the answer.
func waitWindows(t *testing.T, m *otelgc.Monitor, got *told, n int) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		flush(t, m)
		got.mu.Lock()
		have := len(got.all)
		got.mu.Unlock()
		if have > n || time.Now().After(deadline) {
			t.Fatalf("%d windows, want %d", have, n)
		}
		if have == n {
			return
		}
	}
}
