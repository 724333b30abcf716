package gcgrpc

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// TestJoin: a goroutine that a method starts joins the window of its call.
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
	n := 0
	for deadline := time.Now().Add(3 * time.Minute); !followed; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no slice began in a minute")
		}
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		n++
	}
	conn.Close()
	waitWindows(t, m, &got, n)
	got.mu.Lock()
	defer got.mu.Unlock()
	s := slices.MaxFunc(got.all, func(a, b stall.Share) int { return cmp.Compare(a.Total, b.Total) })
	if s.Unseen > s.Total/2 {
		t.Skipf("the slice ended: %s", s.Explain())
	}
	if s.App > s.Total/2 {
		t.Errorf("the call waits for itself: %s", s.Explain())
	}
}

// TestContext: without a call there is nothing to join.
func TestContext(t *testing.T) {
	ctx := NewServerHandler(nil).TagRPC(context.Background(), &stats.RPCTagInfo{})
	if got := Context(ctx); got != ctx {
		t.Errorf("got %v, want what was given", got)
	}
}
