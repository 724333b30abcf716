package beside

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelgc/otelgc/otelgc"
)

// collecting forces collections until stop is called.
func collecting() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
				runtime.GC()
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

// waitWindows waits until n windows are told of; one that is hijacked may end
// after its answer.
func waitWindows(t *testing.T, m *otelgc.Monitor, got *windows, n int) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		if err := m.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		got.mu.Lock()
		have := len(got.all)
		got.mu.Unlock()
		if have == n {
			return
		}
		if have > n || time.Now().After(deadline) {
			t.Fatalf("%d windows, want %d", have, n)
		}
	}
}

// waitSpans waits until there are n spans: one may end after the window within it, and
// nobody waits for the handler whose window that was.
func waitSpans(t *testing.T, tracers *sdktrace.TracerProvider, out *tracetest.InMemoryExporter, n int) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		if err := tracers.ForceFlush(context.Background()); err != nil {
			t.Fatal(err)
		}
		have := len(out.GetSpans())
		if have == n {
			return
		}
		if have > n || time.Now().After(deadline) {
			t.Fatalf("%d spans, want %d", have, n)
		}
	}
}

// TestHTTPUnderLoad: many clients at once, all awkward handlers, always traced:
// for the race detector, and nothing is lost.
func TestHTTPUnderLoad(t *testing.T) {
	for name, outer := range map[string]bool{"otelgc outside": true, "otelgc inside": false} {
		t.Run(name, func(t *testing.T) {
			var got windows
			m := start(t, otelgc.WithExactBudget(1), otelgc.WithOnWindow(got.add))
			h, out, tracers := traced(m, outer)
			s := httptest.NewUnstartedServer(h)
			m.AcceptArrivals(s.Config)
			s.Start()
			s.Client().Transport.(*http.Transport).DisableKeepAlives = true
			stop := collecting()
			const clients, rounds = 6, 10
			paths := []string{"/plain", "/stream", "/deadline", "/panic", "/hijack"}
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for i := range rounds * len(paths) {
						if r, err := s.Client().Get(s.URL + paths[i%len(paths)]); err == nil {
							_, _ = io.Copy(io.Discard, r.Body)
							_ = r.Body.Close()
						}
					}
				})
			}
			wg.Wait()
			s.Close()
			stop()
			const requests = clients * rounds * 5
			waitWindows(t, m, &got, requests)
			waitSpans(t, tracers, out, requests)
			if err := tracers.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
