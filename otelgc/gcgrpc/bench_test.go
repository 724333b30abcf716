package gcgrpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/otelgc"
)

// deaf is a stats.Handler that does nothing: what gRPC does for any handler.
type deaf struct{}

func (deaf) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (deaf) HandleRPC(context.Context, stats.RPCStats)                         {}
func (deaf) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (deaf) HandleConn(context.Context, stats.ConnStats)                       {}

// BenchmarkCall compares calls to a server with a handler of this package with those to one
// that has none, and to one with a handler that does nothing.
func BenchmarkCall(b *testing.B) {
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	for _, c := range []struct {
		name   string
		server []grpc.ServerOption
	}{
		{"no handler", nil},
		{"a handler that does nothing", []grpc.ServerOption{grpc.StatsHandler(deaf{})}},
		{"this handler", []grpc.ServerOption{grpc.StatsHandler(NewServerHandler(m))}},
	} {
		b.Run(c.name, func(b *testing.B) {
			client := grpc_health_v1.NewHealthClient(dial(b, func(context.Context) error { return nil }, c.server))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
