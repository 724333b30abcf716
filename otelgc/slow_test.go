package otelgc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
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
	mu    sync.Mutex
	n     int
	trace trace.TraceID // of the last
	span  trace.SpanID
}

func (*slowEvents) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

func (*slowEvents) Shutdown(context.Context) error { return nil }

func (*slowEvents) ForceFlush(context.Context) error { return nil }

func (e *slowEvents) OnEmit(_ context.Context, r *sdklog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.EventName() == semconv.EventSlowRequest {
		e.n++
		e.trace, e.span = r.TraceID(), r.SpanID()
	}
	return nil
}

// TestSlowRequest: a slow request is explained in one sentence with its trace,
// and as an event; a fast one is not.
func TestSlowRequest(t *testing.T) {
	const slow = 20 * time.Millisecond
	var got shares
	var out lines
	var events slowEvents
	m := startTest(t, WithExactBudget(0),
		WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(&events))),
		WithOnWindow(got.add), WithSlowRequest(slow, slog.New(slog.NewJSONHandler(&out, nil))),
		WithRoute(func(r *http.Request) string { return r.Pattern }))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /slow/{id}", func(http.ResponseWriter, *http.Request) { time.Sleep(slow) })
	mux.HandleFunc("GET /fast", func(http.ResponseWriter, *http.Request) {})
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	h := m.Middleware(mux)
	ask := func(path string) (took time.Duration) {
		r := httptest.NewRequest("GET", path, nil)
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(trace.ContextWithSpanContext(context.Background(), span)))
		flush(t, m)
		return got.all[len(got.all)-1].s.Total
	}
	want := 1 // and those that the machine made slow
	ask("/slow/1")
	until(t, "a request that is fast", func() bool {
		if ask("/fast") < slow {
			return true
		}
		want++
		return false
	})
	shutdown(t, m)
	if got := len(out.all()); got != want {
		t.Errorf("%d lines, want %d: %q", got, want, out.all())
	}
	var line map[string]string
	if err := json.Unmarshal([]byte(out.all()[0]), &line); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line["msg"], "not seen") || line["route"] != "/slow/{id}" ||
		line["trace_id"] != span.TraceID().String() || line["span_id"] != span.SpanID().String() || line["fidelity"] != "cycle" {
		t.Errorf("line: %v", line)
	}
	if events.n != want {
		t.Errorf("%d events, want %d", events.n, want)
	}
	if events.trace != span.TraceID() || events.span != span.SpanID() {
		t.Errorf("the event is of trace %v, span %v, want those of the request", events.trace, events.span)
	}
}

// TestSlowRequestAtShutdown: what Shutdown itself resolves is in words when it
// returns, also where the logger takes its time.
func TestSlowRequestAtShutdown(t *testing.T) {
	var logged atomic.Int32
	slowly := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		time.Sleep(5 * time.Millisecond)
		logged.Add(1)
		return len(p), nil
	}), nil))
	m := startTest(t, WithExactBudget(0), WithSlowRequest(0, slowly))
	const want = 5
	for range want {
		w := m.Begin(context.Background())
		w.End()
	}
	shutdown(t, m)
	if got := logged.Load(); got != want {
		t.Errorf("%d of %d sentences were logged when Shutdown returned", got, want)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

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
	dropped := metrics.by(t, semconv.MetricDropped, semconv.AttrItem)["slow_request"]
	const kept = slowQueue + 1 // with the one that the logger has in its hands
	if dropped < n-kept || dropped >= n {
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
	if got := metrics.by(t, semconv.MetricRequests, semconv.AttrRoute); got[""] != 1 {
		t.Errorf("requests by route: %v, want one without", got)
	}
	shutdown(t, m)
}

// TestOnSlowRequest: what is slow comes with its pieces, which fill the window; what is
// fast does not come.
func TestOnSlowRequest(t *testing.T) {
	const slow = 5 * time.Millisecond
	type request struct {
		route  string
		window stall.Window
		share  stall.Share
		pieces []stall.Piece
	}
	var mu sync.Mutex
	var got []request
	m := startTest(t, WithExactBudget(1), WithRoute(func(r *http.Request) string { return r.URL.Path }),
		WithOnSlowRequest(slow, func(r *SlowRequest) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, request{r.Route, *r.Window, *r.Share, slices.Clone(r.Pieces)})
		}))
	h := m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			for end := time.Now().Add(slow / 2); time.Now().Before(end); {
			}
			time.Sleep(slow)
		}
	}))
	until(t, "the tracer runs", m.exact.Marking)
	for range 3 {
		for _, path := range []string{"/fast", "/slow"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}
	}
	flush(t, m)
	mu.Lock()
	defer mu.Unlock()
	n := 0
	for _, r := range got {
		if r.route != "/slow" {
			continue // one that the machine made slow
		}
		n++
		at := r.window.Extent().Start
		var sums stall.Share
		for _, p := range r.pieces {
			if p.Start != at {
				t.Errorf("piece begins at %d, the one before ends at %d", p.Start, at)
			}
			*sums.Of(p.Part) += p.End.Sub(p.Start)
			at = p.End
		}
		if want := r.window.Extent().End; at != want {
			t.Errorf("pieces end at %d, want %d", at, want)
		}
		for p := range stall.NumParts {
			if *sums.Of(p) != *r.share.Of(p) {
				t.Errorf("pieces of %v: got %v, want %v", p, *sums.Of(p), *r.share.Of(p))
			}
		}
		if r.share.AppOrHost < slow/4 || r.share.App < slow/2 {
			t.Errorf("%v running and %v asleep, want some of %v each", r.share.AppOrHost, r.share.App, slow)
		}
	}
	if n != 3 {
		t.Errorf("%d slow requests, want 3", n)
	}
}
