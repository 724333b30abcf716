package gcgrpc

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/internal/noleak"
)

// onGoroutine is a stats handler that notes where it is called.
type onGoroutine struct {
	handler
	mu   sync.Mutex
	seen map[string][]string // by kind of event
}

func (g *onGoroutine) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (g *onGoroutine) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.Begin:
		g.note("begin")
	case *stats.End:
		g.note("end")
	}
}

func (g *onGoroutine) note(kind string) {
	buf := make([]byte, 64)
	id := strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = make(map[string][]string)
	}
	g.seen[kind] = append(g.seen[kind], id)
}

// TestServerGoroutine holds gRPC to what the package builds on: Begin, the
// method and End are on one goroutine.
func TestServerGoroutine(t *testing.T) {
	noleak.Check(t)
	for name, opts := range map[string][]grpc.ServerOption{
		"goroutine per call": nil,
		"workers":            {grpc.NumStreamWorkers(2)},
	} {
		t.Run(name, func(t *testing.T) {
			var g onGoroutine
			ended := make(chan struct{}, 2)
			conn := dial(t, func(context.Context) error { g.note("method"); return nil },
				append(opts, grpc.StatsHandler(&g), grpc.StatsHandler(endTeller(ended))))
			if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
				t.Fatal(err)
			}
			<-ended
			if _, err := watch(t, conn); err != nil {
				t.Fatal(err)
			}
			<-ended
			g.mu.Lock()
			defer g.mu.Unlock()
			if len(g.seen["method"]) != 2 || !slices.Equal(g.seen["begin"], g.seen["method"]) || !slices.Equal(g.seen["end"], g.seen["method"]) {
				t.Errorf("goroutines: %v, want the same throughout a call", g.seen)
			}
		})
	}
}

// endTeller tells of each end of a call, after the handlers before it.
type endTeller chan struct{}

func (endTeller) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (endTeller) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (endTeller) HandleConn(context.Context, stats.ConnStats) {}

func (e endTeller) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.End); ok {
		e <- struct{}{}
	}
}
