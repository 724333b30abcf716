package otelgc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestJoin: the time of a window that waits for a child that joined is the
// child's; without joining, waiting is the program's own doing.
func TestJoin(t *testing.T) {
	for name, join := range map[string]bool{"joined": true, "not joined": false} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
			waitMarking(t, m)
			w, opened := m.Begin(context.Background()), time.Now()
			ctx := context.Background()
			if join {
				ctx = w.Context(ctx)
			}
			computeBeside(ctx, opened)
			w.End()
			flush(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			if join && s.App > s.Total/2 || !join && s.AppOrHost > s.Total/2 {
				t.Errorf("joined %v: %s", join, s.Explain())
			}
		})
	}
}

// TestJoinRequest: a goroutine that a handler starts joins by the context of its
// request, for who asks for that; else the request is handed on as it came.
func TestJoinRequest(t *testing.T) {
	for name, opts := range map[string][]Option{"joinable": {WithJoinableRequests()}, "not asked for": nil} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, append(opts, WithExactBudget(1), WithOnWindow(got.add))...)
			waitMarking(t, m)
			asked := httptest.NewRequest(http.MethodGet, "/", nil)
			opened := time.Now()
			m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if len(opts) == 0 && r != asked {
					t.Error("the request is another one")
				}
				r.Pattern = "GET /orders"
				computeBeside(r.Context(), opened)
			})).ServeHTTP(httptest.NewRecorder(), asked)
			if asked.Pattern != "GET /orders" {
				t.Errorf("who stands outside is told pattern %q", asked.Pattern)
			}
			flush(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			// What waits for its own doing is the program's, and what computes
			// on a machine that nobody watches may be the host's.
			if joined := s.AppOrHost > s.App; joined != (len(opts) > 0) {
				t.Errorf("joined %v: %s", joined, s.Explain())
			}
		})
	}
}

// computeBeside has a goroutine compute that joins the window of ctx, for longer
// than it took to get a CPU, however long that was.
func computeBeside(ctx context.Context, opened time.Time) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer Join(ctx)()
		begin := time.Now()
		for least := 50*time.Millisecond + 3*begin.Sub(opened); time.Since(begin) < least; {
		}
	}()
	<-done
}
