package otelgc

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

// TestPathIsOneLine: what each request reads of a monitor is one line of the cache, the
// pointer with which its queue begins included.
func TestPathIsOneLine(t *testing.T) {
	const line = 64
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("skipped: lines are as long as here where pointers have 8 bytes")
	}
	m := startTest(t)
	if end := unsafe.Offsetof(m.path.ended) + 8; end > line {
		t.Errorf("it ends after %d bytes, want %d at most", end, line)
	}
	if size := unsafe.Sizeof(*m.path); size%line != 0 || uintptr(unsafe.Pointer(m.path))%line != 0 {
		t.Errorf("it begins %d bytes into a line, and has %d bytes, want whole lines", uintptr(unsafe.Pointer(m.path))%line, size)
	}
}

// TestSpansAreAskedFor: where requests have had no spans, a context is asked for one if the
// request took long, or a hook is to see it, and now and then; where they have, always.
func TestSpansAreAskedFor(t *testing.T) {
	m := idleMonitor(t) // windows are the test's
	r := httptest.NewRequest("GET", "/", nil)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	asked := func(start stall.Instant) bool {
		t.Helper()
		m.path.served(ctx, m, r, start)
		e := m.path.ended.Take(nil, math.MaxInt64, 1)
		if len(e) != 1 {
			t.Fatalf("%d windows ended, want 1", len(e))
		}
		c := e[0].Span.Context()
		return c.TraceID() == trace.TraceID{1} && c.SpanID() == trace.SpanID{2}
	}
	// begin returns a begin, of a request that is over now, which is sampled or not.
	begin := func(took time.Duration, isSampled bool) stall.Instant {
		at := m.path.now().Add(-took)
		for sampled(at) != isSampled {
			at--
		}
		return at
	}

	if !asked(begin(0, false)) {
		t.Error("the first request is not asked for its span")
	}
	for range spanless {
		m.learnSpan(false)
	}
	// One that is late by a millisecond is one that took long: of some one is not.
	short := func() bool {
		for range 100 {
			if !asked(begin(0, false)) {
				return true
			}
		}
		return false
	}
	if !short() {
		t.Error("short requests are asked for spans though none had one")
	}
	if !asked(begin(askFrom, false)) {
		t.Error("a request that took long is not asked for its span")
	}
	if !asked(begin(0, true)) {
		t.Error("of short requests none is asked for its span")
	}
	entry.PageOf(m).Observe(blind{})
	if short() {
		t.Error("requests that an observer is to see are not asked for their spans")
	}
	m.path.askFrom.Store(int64(askFrom))
	m.learnSpan(true)
	if short() {
		t.Error("requests are not asked for their spans though one had one")
	}
}

// TestSpanOfOneThatWaited: a request that is slow by its wait before the handler is told of
// with its span, though requests have had none and the handler took no time.
func TestSpanOfOneThatWaited(t *testing.T) {
	const header = "X-Arrival"
	slow := make(chan trace.SpanContext, 1)
	m := startTest(t, WithExactBudget(0), WithArrivalHeader(header, ArrivalMonotonic), WithOnSlowRequest(time.Second, func(r *SlowRequest) { slow <- r.Span }))
	m.path.spans.Store(false)
	want := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	r := httptest.NewRequest("GET", "/", nil).WithContext(trace.ContextWithSpanContext(t.Context(), want))
	r.Header.Set(header, strconv.FormatInt(int64(m.path.now().Add(-2*time.Second)), 10))
	m.Middleware(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	flush(t, m)
	if got := <-slow; !got.Equal(want) {
		t.Errorf("its span is %v, want %v", got, want)
	}
}

// blind is an observer that looks at nothing.
type blind struct{}

func (blind) See(*entry.Request)                            {}
func (blind) WantsPieces(time.Duration, stall.Instant) bool { return false }
