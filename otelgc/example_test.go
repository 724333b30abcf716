package otelgc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/otelgc"
)

// One line around the handlers. Inside of the middleware that makes the spans, such
// as otelhttp's, a slow request is told with its trace.
func ExampleMonitor_Middleware() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(_ http.ResponseWriter, r *http.Request) { fmt.Println("order", r.PathValue("id")) })
	h := m.Middleware(mux)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/orders/7", nil))
	// Output: order 7
}

// A goroutine that a handler starts joins the window of its request.
func ExampleJoin() {
	m, err := otelgc.Start(otelgc.WithJoinableRequests())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	h := m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer otelgc.Join(r.Context())()
			fmt.Println("half of the work")
		}()
		<-done
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	// Output: half of the work
}

// A job of a queue is a window, and the goroutine that does half of it joins it.
func ExampleMonitor_Begin() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()

	job := func(ctx context.Context) {
		w := m.Begin(ctx)
		defer w.End()
		ctx, done := w.Context(ctx), make(chan struct{})
		go func() {
			defer close(done)
			defer otelgc.Join(ctx)()
			fmt.Println("half of the work")
		}()
		<-done
	}
	job(context.Background())
	// Output: half of the work
}

// Something in the program stops the world, but it is not the collector.
func ExampleMonitor_Suspensions() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	_ = m.Shutdown(context.Background())
	stops, _ := m.Suspensions(0)
	for _, s := range stops {
		// Within a slice of exact tracing the reason and the caller are known.
		_ = fmt.Sprintf("%s stopped the world for %v (%s)", s.Caller, s.Duration(), s.Reason)
	}
	fmt.Println(len(stops) > 0)
	// Output: true
}

// Requests that take 50 ms or more are explained in one sentence each.
func ExampleWithSlowRequest() {
	m, err := otelgc.Start(
		otelgc.WithSlowRequest(50*time.Millisecond, slog.New(slog.NewTextHandler(os.Stderr, nil))),
		otelgc.WithRoute(func(r *http.Request) string { return r.Pattern }),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(http.ResponseWriter, *http.Request) {})
	_ = http.Server{Addr: "127.0.0.1:8080", Handler: m.Middleware(mux)}
}
