package gcgrpc

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/otelgc"
)

// TestJoin: a goroutine that a method starts joins the window of its call, so that the
// call does not wait for itself.
func TestJoin(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(1), otelgc.WithOnWindow(got.add))
	followed := false
	conn := dial(t, func(ctx context.Context) error {
		own := Context(ctx)
		if own == ctx {
			return nil // nothing is traced yet
		}
		followed = true
		opened, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			defer otelgc.Join(own)()
			// Longer than it took to get a CPU, however long that was.
			begin := time.Now()
			for least := 50*time.Millisecond + 3*begin.Sub(opened); time.Since(begin) < least; {
			}
		}()
		<-done
		return nil
	}, []grpc.ServerOption{grpc.StatsHandler(NewServerHandler(m))})
	for n := 1; ; n++ {
		followed = false
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		waitWindows(t, m, &got, n)
		got.mu.Lock()
		s := got.all[n-1]
		got.mu.Unlock()
		if !followed || s.Unseen > s.Total/2 { // no slice had begun, or it ended
			continue
		}
		if s.App > s.Total/2 {
			t.Errorf("the call waits for itself: %s", s.Explain())
		}
		return
	}
}

// TestContext: without a call there is nothing to join.
func TestContext(t *testing.T) {
	ctx := NewServerHandler(nil).TagRPC(context.Background(), &stats.RPCTagInfo{})
	if got := Context(ctx); got != ctx {
		t.Errorf("got %v, want what was given", got)
	}
}
