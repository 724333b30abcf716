package otelgc

import (
	"math"
	"net/http/httptest"
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
	justNow := func(odd stall.Instant) stall.Instant { return m.path.now()/askSpanOf*askSpanOf + odd }
	begin := func(took time.Duration) stall.Instant { return justNow(1).Add(-took) }

	if !asked(begin(0)) {
		t.Error("the first request is not asked for its span")
	}
	for range spanless {
		m.learnSpan(false)
	}
	// One that is late by a millisecond is one that took long: of some one is not.
	short := func() bool {
		for range 100 {
			if !asked(begin(0)) {
				return true
			}
		}
		return false
	}
	if !short() {
		t.Error("short requests are asked for spans though none had one")
	}
	if !asked(begin(askFrom + askSpanOf)) {
		t.Error("a request that took long is not asked for its span")
	}
	if !asked(justNow(0)) {
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

// blind is an observer that looks at nothing.
type blind struct{}

func (blind) See(*entry.Request)                            {}
func (blind) WantsPieces(time.Duration, stall.Instant) bool { return false }
