// Package beside holds the tests of otelgc beside the instrumentation that most
// services have: otelhttp and otelgrpc.
package beside

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
	"github.com/otelgc/otelgc/stall"
)

// windows counts what WithOnWindow is told.
type windows struct {
	mu  sync.Mutex
	all []stall.Share
}

func (w *windows) add(_ *stall.Window, s *stall.Share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, *s)
}

func start(t testing.TB, opts ...otelgc.Option) *otelgc.Monitor {
	t.Helper()
	m, err := otelgc.Start(append([]otelgc.Option{otelgc.WithBoard(""), otelgc.WithExactBudget(0)}, opts...)...)
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

// handlers are awkward ways of answering.
func handlers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok")) })
	mux.HandleFunc("/stream", func(rw http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = rw.Write([]byte("part\n"))
			if err := http.NewResponseController(rw).Flush(); err != nil {
				panic(err)
			}
		}
	})
	mux.HandleFunc("/deadline", func(rw http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(3 * time.Minute)); err != nil {
			panic(err)
		}
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/hijack", func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		_ = conn.Close()
	})
	return mux
}

// traced returns the handlers with otelgc and otelhttp around them, one of them outside,
// and what gets the spans.
func traced(m *otelgc.Monitor, outside bool) (h http.Handler, out *tracetest.InMemoryExporter, tracers *sdktrace.TracerProvider) {
	out = tracetest.NewInMemoryExporter()
	tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
		spans.NewProcessor(m, sdktrace.NewSimpleSpanProcessor(out))))
	h = handlers()
	if outside {
		return m.Middleware(otelhttp.NewHandler(h, "h", otelhttp.WithTracerProvider(tracers))), out, tracers
	}
	return otelhttp.NewHandler(m.Middleware(h), "h", otelhttp.WithTracerProvider(tracers)), out, tracers
}

// TestHTTP: in either order around handlers that stream, panic or hijack, each
// request is one window and one span.
func TestHTTP(t *testing.T) {
	for name, outer := range map[string]bool{"otelgc outside": true, "otelgc inside": false} {
		t.Run(name, func(t *testing.T) {
			var got windows
			m := start(t, otelgc.WithOnWindow(got.add))
			h, out, tracers := traced(m, outer)
			s := httptest.NewServer(h)
			// On a connection that is used again a client repeats what was aborted.
			s.Client().Transport.(*http.Transport).DisableKeepAlives = true
			paths := []string{"/plain", "/stream", "/deadline", "/panic", "/hijack"}
			for _, path := range paths {
				r, err := s.Client().Get(s.URL + path)
				if (err != nil) != (path == "/panic") {
					t.Errorf("%s: %v", path, err)
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
				}
			}
			s.Close()
			// A hijacked handler is not the server's any more.
			for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				if err := m.Flush(context.Background()); err != nil {
					t.Fatal(err)
				}
				got.mu.Lock()
				n := len(got.all)
				got.mu.Unlock()
				if n == len(paths) {
					break
				}
			}
			if len(got.all) != len(paths) {
				t.Errorf("%d windows, want %d", len(got.all), len(paths))
			}
			waitSpans(t, tracers, out, len(paths))
			if err := tracers.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// BenchmarkMiddleware measures what a middleware adds to a handler that does
// nothing: ours, and otelhttp's with spans and metrics for scale.
func BenchmarkMiddleware(b *testing.B) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	serve := func(b *testing.B, h http.Handler) time.Duration {
		rw, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(rw, r)
		}
		return b.Elapsed() / time.Duration(b.N)
	}
	var ours time.Duration
	b.Run("otelgc", func(b *testing.B) { ours = serve(b, start(b).Middleware(nothing)) })
	b.Run("otelhttp", func(b *testing.B) {
		tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		defer func() { _ = tracers.Shutdown(context.Background()) }()
		theirs := serve(b, otelhttp.NewHandler(nothing, "h", otelhttp.WithTracerProvider(tracers), otelhttp.WithMeterProvider(meters)))
		if ours > 0 {
			b.ReportMetric(float64(theirs)/float64(ours), "x-otelgc")
		}
	})
}
