package gcgrpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/otelgc/otelgc/otelgc"
)

// TestServer: unary and streaming calls are a window each, also those that fail;
// a call that no method answers is none.
func TestServer(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(0), otelgc.WithOnWindow(got.add))
	fail := false
	conn := dial(t, func(context.Context) error {
		if fail {
			return status.Error(codes.Internal, "no")
		}
		return nil
	}, []grpc.ServerOption{grpc.StatsHandler(NewServerHandler(m))})
	health := grpc_health_v1.NewHealthClient(conn)
	for _, fail = range []bool{false, true} {
		if _, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); (err != nil) != fail {
			t.Errorf("fail %v: got %v", fail, err)
		}
		if n, err := watch(t, conn); (err != nil) != fail || n != 3 {
			t.Errorf("fail %v: got %d messages, %v", fail, n, err)
		}
	}
	if err := conn.Invoke(context.Background(), "/no.Service/Method", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("unknown method: got %v", err)
	}
	conn.Close()
	waitWindows(t, m, &got, 4)
}

// TestClient: each call is a window, also one that its context ends.
func TestClient(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(0), otelgc.WithOnWindow(got.add))
	conn := dial(t, func(context.Context) error { return nil }, nil, grpc.WithStatsHandler(NewClientHandler(m)))
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := watch(t, conn); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = s.Recv()
	}
	waitWindows(t, m, &got, 3)
}

// TestNilMonitor: handlers of nobody do nothing.
func TestNilMonitor(t *testing.T) {
	for _, h := range []stats.Handler{NewServerHandler(nil), NewClientHandler(nil)} {
		ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{})
		h.HandleRPC(ctx, &stats.Begin{})
		h.HandleRPC(ctx, &stats.End{})
	}
}
