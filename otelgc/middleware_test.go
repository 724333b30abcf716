package otelgc

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/trace"
	"testing"

	"github.com/otelgc/otelgc/otelgc/internal/window"
)

// TestMiddlewareTouchesNothing: the handler gets the very ResponseWriter, with
// all that it can do.
func TestMiddlewareTouchesNothing(t *testing.T) {
	m := startTest(t, WithExactBudget(0))
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	m.Middleware(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if rw != http.ResponseWriter(rec) || r != req {
			t.Error("the handler got another ResponseWriter or Request")
		}
		if err := http.NewResponseController(rw).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
	})).ServeHTTP(rec, req)
	if !rec.Flushed {
		t.Error("not flushed")
	}
}

// TestMiddlewareOfAPanic: the window ends, and the panic goes on to net/http.
func TestMiddlewareOfAPanic(t *testing.T) {
	var got shares
	m := startTest(t, WithExactBudget(0), WithOnWindow(got.add))
	h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	func() {
		defer func() {
			if r := recover(); r != http.ErrAbortHandler {
				t.Errorf("recovered %v, want the handler's own", r)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	flush(t, m)
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.all) != 1 {
		t.Errorf("%d windows, want 1", len(got.all))
	}
}

// TestMiddlewareOfAHijack: the connection is the handler's own, and works.
func TestMiddlewareOfAHijack(t *testing.T) {
	m := startTest(t, WithExactBudget(0))
	s := httptest.NewServer(m.Middleware(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		_, _ = conn.Write([]byte("mine\n"))
		_ = conn.Close()
	})))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "mine\n" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestMiddlewareDoesNotAllocate outside of a slice.
func TestMiddlewareDoesNotAllocate(t *testing.T) {
	for name, opts := range map[string][]Option{
		"as it is": nil, "with arrivals": {WithArrivalHeader("X-Arrival", ArrivalMonotonic)},
	} {
		t.Run(name, func(t *testing.T) {
			m := startTest(t, append(opts, WithExactBudget(0))...)
			h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			rec, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			req.Header.Set("X-Arrival", "1")
			for range 8 * window.BlockCells {
				m.windows.Requests.Push(window.Ended{})
			}
			flush(t, m) // their memory is there for the next
			if got := testing.AllocsPerRun(1000, func() { h.ServeHTTP(rec, req) }); got >= 1 {
				t.Errorf("%v allocations for a request, want 0", got)
			}
		})
	}
}

func startBench(b *testing.B, opts ...Option) *Monitor {
	b.Helper()
	m, err := Start(append([]Option{WithBoard("")}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	return m
}

// BenchmarkMiddleware compares a handler behind the middleware with the bare
// one, while nothing is traced and while all is.
func BenchmarkMiddleware(b *testing.B) {
	bare := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	rec, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	run := func(h http.Handler) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(rec, req)
			}
		}
	}
	b.Run("bare", run(bare))
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		b.Run(name, func(b *testing.B) {
			m := startBench(b, WithExactBudget(budget))
			for budget > 0 && !m.exact.Marking() {
				runtime.Gosched()
			}
			run(m.Middleware(bare))(b)
			if budget > 0 && !trace.IsEnabled() {
				b.Error("the slice was over before the measurement")
			}
		})
	}
}
