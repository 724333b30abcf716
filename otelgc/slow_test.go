package otelgc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// lines is a writer that counts what a logger wrote.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.buf.String()), "\n")
}

// slowEvents counts the events of slow requests.
type slowEvents struct {
	sdklog.Processor
	mu sync.Mutex
	n  int
}

func (*slowEvents) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

func (*slowEvents) Shutdown(context.Context) error { return nil }

func (*slowEvents) ForceFlush(context.Context) error { return nil }

func (e *slowEvents) OnEmit(_ context.Context, r *sdklog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.EventName() == stall.EventSlowRequest {
		e.n++
	}
	return nil
}

// TestSlowRequest: a slow request is explained in one sentence with its trace,
// and as an event; a fast one is not.
func TestSlowRequest(t *testing.T) {
	var out lines
	var events slowEvents
	m := startTest(t, WithExactBudget(0),
		WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(&events))),
		WithSlowRequest(20*time.Millisecond, slog.New(slog.NewJSONHandler(&out, nil))),
		WithRoute(func(r *http.Request) string { return r.Pattern }))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /slow/{id}", func(http.ResponseWriter, *http.Request) { time.Sleep(25 * time.Millisecond) })
	mux.HandleFunc("GET /fast", func(http.ResponseWriter, *http.Request) {})
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	h := m.Middleware(mux)
	for _, path := range []string{"/slow/1", "/fast"} {
		r := httptest.NewRequest("GET", path, nil)
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(trace.ContextWithSpanContext(context.Background(), span)))
	}
	flush(t, m)
	shutdown(t, m)
	until(t, "the sentence", func() bool { return strings.Contains(out.all()[0], "/slow/") })
	if got := len(out.all()); got != 1 {
		t.Errorf("%d lines, want 1: %q", got, out.all())
	}
	var line map[string]string
	if err := json.Unmarshal([]byte(out.all()[0]), &line); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line["msg"], "not seen") || line["route"] != "GET /slow/{id}" ||
		line["trace_id"] != span.TraceID().String() || line["span_id"] != span.SpanID().String() || line["fidelity"] != "cycle" {
		t.Errorf("line: %v", line)
	}
	if events.n != 1 {
		t.Errorf("%d events, want 1", events.n)
	}
}

// TestSlowRequestsAreRationed: what is over the rate is counted, and a logger
// that hangs holds nobody up.
func TestSlowRequestsAreRationed(t *testing.T) {
	metrics, provider := newSums()
	hang := make(chan struct{})
	m := startTest(t, WithExactBudget(0), provider,
		WithSlowRequest(0, slog.New(slog.NewTextHandler(hanging(hang), nil))))
	const n = 500
	for range n {
		w := m.Begin(context.Background())
		w.End()
	}
	flush(t, m)
	dropped := metrics.by(t, stall.MetricDropped, stall.AttrItem)["slow_request"]
	if dropped < n-slowQueue || dropped >= n {
		t.Errorf("%v of %d sentences were dropped, want all but a few", dropped, n)
	}
	close(hang)
}

type hanging chan struct{}

func (h hanging) Write(p []byte) (int, error) {
	<-h
	return len(p), nil
}

// TestRoutePanics: a namer that panics costs the route, not the request.
func TestRoutePanics(t *testing.T) {
	metrics, provider := newSums()
	m := startTest(t, WithExactBudget(0), provider, WithRoute(func(*http.Request) string { panic("route") }))
	s := serve(t, m, func() {})
	get(t, s)
	s.Close()
	flush(t, m)
	if got := metrics.by(t, stall.MetricRequests, stall.AttrRoute); got[""] != 1 {
		t.Errorf("requests by route: %v, want one without", got)
	}
	shutdown(t, m)
}
