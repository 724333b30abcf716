package attribution

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestSlowOfLongName: the name of a span goes into the sentence as far as names are
// kept, and no rune of it in part.
func TestSlowOfLongName(t *testing.T) {
	s, a, c := newSender(), New(Config{SlowSpan: 1}), new(catcher)
	td := s.span(100*sec, 100*sec+5*ms)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetName("GET " + strings.Repeat("/ü", 1<<20))
	a.Hold(td, c.sink(), start)
	a.Flush()
	got := c.slow[0].Body().Str()
	if !utf8.ValidString(got) || !strings.HasPrefix(got, "GET /ü") || !strings.Contains(got, "…: ") || len(got) > 4*wire.MaxName {
		t.Errorf("a body of %d bytes, want the begin of the name and the sentence: %.40s", len(got), got)
	}
}

// TestSlowOfAnother: the event of a span that came with charges has the coverage
// that its own process wrote on it; of one that was found by its container, the
// pid of the process; and no pid is left out rather than 0.
func TestSlowOfAnother(t *testing.T) {
	own := func(td ptrace.Traces) {
		m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		m.PutStr(semconv.AttrFidelity, "exact")
		m.PutDouble("otelgc.stall.app", 5e-3)
		m.PutDouble(semconv.AttrCoverage, 0.75)
	}
	noPID := func(td ptrace.Traces) {
		td.ResourceSpans().At(0).Resource().Attributes().Remove(semconv.AttrProcessPID)
	}
	type told struct{ pid, coverage any }
	for name, x := range map[string]struct {
		with   m
		heard  bool
		change func(ptrace.Traces)
		want   told
	}{
		"own charges":                 {nil, true, own, told{int64(42), 0.75}},
		"own charges, nobody watches": {nil, false, own, told{int64(42), 0.75}},
		"container":                   {m{"container.id": "abc"}, true, noPID, told{int64(42), 1.}},
		"nobody knows its pid":        {nil, true, noPID, told{nil, 0.}},
	} {
		s, a, c := newSender(), New(Config{SlowSpan: time.Millisecond}), new(catcher)
		s.with = x.with
		if x.heard {
			a.Learn(s.status(stall.GCWatch, 99*sec))
			a.Learn(s.status(stall.GCWatch, 101*sec))
		}
		td := s.span(100*sec, 100*sec+5*ms)
		x.change(td)
		a.Hold(td, c.sink(), start)
		a.Flush()
		if len(c.slow) != 1 {
			t.Fatalf("%s: %d events, want 1", name, len(c.slow))
		}
		raw := c.slow[0].Attributes().AsRaw()
		if diff := cmp.Diff(x.want, told{raw["process.pid"], raw["otelgc.stall.coverage"]}, cmp.AllowUnexported(told{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSlow: the event of a slow span says where and when it was, and why it was
// slow; a quicker span has none.
func TestSlow(t *testing.T) {
	s, a, c := newSender(), New(Config{SlowSpan: 2 * time.Millisecond}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 99*sec))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	td := s.span(100*sec, 100*sec+5*ms)
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	span.Attributes().PutStr("http.route", "/orders/{id}")
	span.SetTraceID(pcommon.TraceID{1})
	span.SetSpanID(pcommon.SpanID{2})
	a.Hold(td, c.sink(), start)
	a.Hold(s.span(100*sec, 100*sec+ms), c.sink(), start)
	a.Flush()
	if len(c.slow) != 1 || len(c.spans) != 2 {
		t.Fatalf("%d events and %d spans, want 1 and 2", len(c.slow), len(c.spans))
	}
	r := c.slow[0]
	if r.EventName() != semconv.EventSlowRequest || r.SeverityNumber() != plog.SeverityNumberInfo || r.TraceID() != span.TraceID() {
		t.Errorf("event %q, severity %v, trace %v", r.EventName(), r.SeverityNumber(), r.TraceID())
	}
	want := map[string]any{
		"otelgc.boot.id": boot, "process.pid": int64(42), "otelgc.start": 100 * sec, "otelgc.end": 100*sec + 5*ms, "otelgc.slack": int64(100),
		"otelgc.duration": 5e-3, "http.route": "/orders/{id}",
		"otelgc.trace.id": "01000000000000000000000000000000", "otelgc.span.id": "0200000000000000",
		"otelgc.stall.gc.pause": 3e-3, "otelgc.stall.unseen": 2e-3, "otelgc.stall.coverage": 1.0,
		"otelgc.gc.overlap": "one_collection", "otelgc.fidelity": "cycle",
	}
	got := r.Attributes().AsRaw()
	if got["otelgc.sentence"] == "" {
		t.Error("no sentence")
	}
	delete(got, "otelgc.sentence")
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}
