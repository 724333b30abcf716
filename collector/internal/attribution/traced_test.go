package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// tracedSpan is one of the process whose requests are traced.
type tracedSpan struct {
	start, end int64 // in us from 100 s on
	name       string
	id         byte
	made       func(ptrace.Span)
}

// spansOf makes one batch of spans.
func (s *sender) spansOf(all ...tracedSpan) ptrace.Traces {
	const us = int64(time.Microsecond)
	td := s.span(100*sec, 100*sec)
	list := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	list.RemoveIf(func(ptrace.Span) bool { return true })
	for _, x := range all {
		span := list.AppendEmpty()
		span.SetName(x.name)
		span.SetKind(ptrace.SpanKindServer)
		span.SetSpanID(pcommon.SpanID{x.id})
		span.SetStartTimestamp(pcommon.Timestamp(100*sec + x.start*us + s.off))
		span.SetEndTimestamp(pcommon.Timestamp(100*sec + x.end*us + s.off))
		if x.made != nil {
			x.made(span)
		}
	}
	return td
}

// request is a traced one, in us from 100 s on.
type request struct {
	start, end int64
	name       string
}

// TestTracedRequests: a span has the share of the one request that began and ended just behind
// it, if no other span and no other request will do; the name decides between those that will.
func TestTracedRequests(t *testing.T) {
	parent := func(s ptrace.Span) { s.SetParentSpanID(pcommon.SpanID{9}) }
	local := func(s ptrace.Span) { parent(s); s.SetFlags(0x100) }
	remote := func(s ptrace.Span) { parent(s); s.SetFlags(0x300); s.SetKind(ptrace.SpanKindInternal) }
	inside := func(s ptrace.Span) { parent(s); s.SetKind(ptrace.SpanKindInternal) }
	share := func(s ptrace.Span) {
		s.Attributes().PutStr(semconv.AttrFidelity, "exact")
		s.Attributes().PutDouble(semconv.App.Key(), 10e-3)
	}
	one := []request{{3, 10_004, "a"}}
	for name, x := range map[string]struct {
		requests []request
		batches  [][]tracedSpan
		exact    []bool // of all spans
		want     Traced
	}{
		"just behind the span":               {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{true}, Traced{Joined: 1}},
		"the span was renamed":               {one, [][]tracedSpan{{{0, 10_000, "GET /a", 1, nil}}}, []bool{true}, Traced{Joined: 1}},
		"as late as may be":                  {[]request{{1000, 10_999, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{true}, Traced{Joined: 1}},
		"later than may be":                  {[]request{{1001, 10_002, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"it ends later than may be":          {[]request{{3, 11_002, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"it begins before the span":          {[]request{{-1, 10_004, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"it ends before the span":            {[]request{{3, 9_999, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"times of the program's own":         {one, [][]tracedSpan{{{-5000, 5000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"a child of another process":         {one, [][]tracedSpan{{{0, 10_000, "a", 1, remote}}}, []bool{true}, Traced{Joined: 1}},
		"a server, of whose parent nothing":  {one, [][]tracedSpan{{{0, 10_000, "a", 1, parent}}}, []bool{true}, Traced{Joined: 1}},
		"a child of this process":            {one, [][]tracedSpan{{{0, 10_000, "a", 1, local}}}, []bool{false}, Traced{Unmatched: 1}},
		"a child, of whose parent nothing":   {one, [][]tracedSpan{{{0, 10_000, "a", 1, inside}}}, []bool{false}, Traced{Unmatched: 1}},
		"a root and its child":               {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}, {1, 9_999, "a", 2, local}}}, []bool{true, false}, Traced{Joined: 1}},
		"two spans, one name":                {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}, {1, 9_999, "a", 2, nil}}}, []bool{false, false}, Traced{Ambiguous: 1}},
		"two spans, another name":            {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}, {1, 9_999, "b", 2, nil}}}, []bool{true, false}, Traced{Joined: 1}},
		"two spans, two requests":            {[]request{{3, 10_004, "a"}, {5, 10_006, "b"}}, [][]tracedSpan{{{1, 10_001, "b", 2, nil}, {0, 10_000, "a", 1, nil}}}, []bool{true, true}, Traced{Joined: 2}},
		"two spans, two requests, one name":  {[]request{{3, 10_004, "a"}, {5, 10_006, "a"}}, [][]tracedSpan{{{1, 10_001, "a", 2, nil}, {0, 10_000, "a", 1, nil}}}, []bool{false, false}, Traced{Ambiguous: 2}},
		"two requests":                       {[]request{{3, 10_004, "a"}, {5, 10_006, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{Ambiguous: 2}},
		"two requests that only begin alike": {[]request{{3, 10_004, "a"}, {5, 20_006, "a"}}, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{true}, Traced{Joined: 1, Unmatched: 1}},
		"the span comes again":               {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}, {{0, 10_000, "a", 1, nil}}}, []bool{true, true}, Traced{Joined: 1}},
		"another comes later":                {one, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}, {{0, 10_000, "a", 2, nil}}}, []bool{true, false}, Traced{Joined: 1, Ambiguous: 1}},
		"the span brought a share":           {one, [][]tracedSpan{{{0, 10_000, "a", 1, share}}}, []bool{true}, Traced{Unmatched: 1}},
		"no span came":                       {one, [][]tracedSpan{{{50_000, 60_000, "a", 1, nil}}}, []bool{false}, Traced{Unmatched: 1}},
		"no request":                         {nil, [][]tracedSpan{{{0, 10_000, "a", 1, nil}}}, []bool{false}, Traced{}},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Tick(start)
		a.Learn(s.status(stall.GoUprobe, 99*sec))
		for _, q := range x.requests {
			a.Learn(s.traced(100*sec+q.start*1000, 100*sec+q.end*1000, q.name, map[string]float64{"app_or_host": 5e-3}))
		}
		a.Learn(s.status(stall.GoUprobe, 101*sec))
		for _, batch := range x.batches {
			a.Hold(s.spansOf(batch...), c.sink(), start)
			a.Tick(start)
		}
		var exact []bool
		for _, span := range c.spans {
			exact = append(exact, wire.Text(span.Attributes(), semconv.AttrFidelity) == "exact")
		}
		if diff := cmp.Diff(x.exact, exact); diff != "" {
			t.Errorf("%s: exact (-want +got):\n%s", name, diff)
		}
		a.Tick(start.Add(time.Minute)) // no span is waited for any more
		if diff := cmp.Diff(x.want, a.Traced()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

// TestTracedShare: the owners of a span that is a traced request are those of the request, what
// the machine did comes to them out of app_or_host, and they sum to the length of the span; it
// counts as a request that was watched exactly.
func TestTracedShare(t *testing.T) {
	s, a, c := newSender(), New(Config{Count: CountAttached, SlowSpan: ms5}), new(catcher)
	a.Learn(s.status(stall.GoUprobe, 99*sec))
	a.Learn(s.status(stall.ProbeSpin, 99*sec))
	a.Learn(s.collection(stall.GoUprobe, 1, 100*sec+2*ms, 100*sec+3*ms, 0))
	a.Learn(s.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, 100*sec+5*ms, 100*sec+9*ms)) // 2 ms of it may lie in the assist
	a.Learn(s.traced(100*sec+10_000, 100*sec+10*ms+4_000, "GET /", map[string]float64{"gc.pause": 1e-3, "gc.assist": 2e-3, "app_or_host": 6.994e-3}))
	a.Learn(s.status(stall.ProbeSpin, 101*sec))
	a.Learn(s.status(stall.GoUprobe, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	if a.Tick(start); len(c.spans) != 1 {
		t.Fatalf("%d spans went on, want the one", len(c.spans))
	}
	want := map[string]float64{
		"otelgc.stall.gc.pause": 1e-3, "otelgc.stall.gc.assist": 2e-3, "otelgc.stall.host.steal": 2e-3,
		"otelgc.stall.app_or_host": 4.994e-3, "otelgc.stall.unseen": 6e-6, "otelgc.stall.coverage": 0.9994,
	}
	attrs := c.spans[0].Attributes()
	if diff := cmp.Diff(want, floats(attrs), near); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if got := str(t, attrs, semconv.AttrFidelity) + " " + str(t, attrs, semconv.AttrGCOverlap); got != "exact one_collection" {
		t.Errorf("fidelity and overlap: %s", got)
	}
	if got := a.counted(t); !cmp.Equal(got, 10e-3, near) {
		t.Errorf("the request counts for %v s, want all of its 10 ms", got)
	}
	if len(c.slow) != 1 || wire.Text(c.slow[0].Attributes(), semconv.AttrFidelity) != "exact" {
		t.Errorf("%d events of slow spans, want one that is exact", len(c.slow))
	}
}

const ms5 = 5 * time.Millisecond

// TestTracedLonger: of a request that went on after its span what is over is taken off, even if
// it was stalled to its end.
func TestTracedLonger(t *testing.T) {
	for owner, want := range map[string]float64{"app_or_host": 10e-3, "gc.assist": 10e-3, "gc.pause": 10e-3, "uncertain": 10e-3} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(s.status(stall.GoUprobe, 99*sec))
		a.Learn(s.traced(100*sec, 100*sec+10*ms+300_000, "GET /", map[string]float64{owner: 10.3e-3}))
		a.Learn(s.status(stall.GoUprobe, 101*sec))
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		got := floats(c.spans[0].Attributes())
		if !cmp.Equal(got[semconv.AttrStallPrefix+owner], want, near) || !cmp.Equal(total(got), 10e-3, near) || got[semconv.AttrCoverage] != 1 {
			t.Errorf("%s: %v, want all of the 10 ms", owner, got)
		}
	}
}

// TestTracedByWallError: how far the wall clock may be off is how far a span may be from its
// request.
func TestTracedByWallError(t *testing.T) {
	for wallError, want := range map[time.Duration]bool{0: false, 2 * time.Millisecond: true} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		for _, at := range []int64{99 * sec, 101 * sec} {
			if at == 101*sec {
				a.Learn(s.traced(100*sec-2*ms, 100*sec+8*ms, "GET /", nil))
			}
			status := s.status(stall.GoUprobe, at)
			attributes(status).PutInt(semconv.AttrWallError, int64(wallError))
			a.Learn(status)
		}
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := a.Traced().Joined == 1; got != want {
			t.Errorf("the clock is off by %v: joined %v, want %v", wallError, got, want)
		}
	}
}

// TestTracedOfWhom: a request is of the process that its event names, whether a source has
// reported on that before or not; not of one with otelgc in it.
func TestTracedOfWhom(t *testing.T) {
	for name, x := range map[string]struct {
		source stall.Origin // that reports
		watch  bool         // it is the sidecar, and says which process it watches
		pid    int64        // of the request
		late   bool         // it comes before any status
		want   Traced
	}{
		"probes":                {stall.GoUprobe, true, 42, false, Traced{Joined: 1}},
		"probes, at once":       {stall.GoUprobe, true, 42, true, Traced{Joined: 1}},
		"the trace alone":       {stall.GoTrace, true, 42, false, Traced{Joined: 1}},
		"the trace, at once":    {stall.GoTrace, true, 42, true, Traced{Joined: 1}},
		"otelgc in the process": {stall.GCWatch, false, 42, false, Traced{}},
		"of another process":    {stall.GoUprobe, true, 43, false, Traced{Unmatched: 1}},
	} {
		s, a, c := newSender(), New(Config{Count: CountAttached}), new(catcher)
		tell := func(at int64) {
			ld := s.status(x.source, at)
			if x.watch {
				attributes(ld).PutInt(semconv.AttrTargetPID, s.pid)
			}
			a.Learn(ld)
		}
		a.Tick(start)
		if !x.late {
			tell(99 * sec)
		}
		other := *s
		other.pid = x.pid
		a.Learn(other.traced(100*sec+1000, 100*sec+10*ms+1000, "GET /", nil))
		tell(101 * sec)
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		a.Tick(start.Add(time.Minute))
		if got, want := a.Lost().Events["conflict"] == 1, !x.watch; got != want {
			t.Errorf("%s: a conflict is counted: %v, want %v", name, got, want)
		}
		if diff := cmp.Diff(x.want, a.Traced()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := requested(a) == 1; got != x.watch {
			t.Errorf("%s: the connector counts the request: %v, want %v", name, got, x.watch)
		}
	}
}

// TestTracedLimit: however many requests come, a process has room for some; the others are
// counted, and so are those of a process that is forgotten.
func TestTracedLimit(t *testing.T) {
	s, a := newSender(), New(Config{})
	a.Tick(start)
	a.Learn(s.status(stall.GoUprobe, 99*sec))
	all := plog.NewLogs()
	for i := range int64(2000) {
		s.traced(100*sec+i*1000, 100*sec+i*1000+ms, "GET /", nil).ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	a.Learn(all)
	checkKnown(t, a, a.config.MaxBytes)
	limit := a.Traced().Limit
	if limit < 1000 || limit >= 2000 {
		t.Errorf("%d of 2000 requests found no room", limit)
	}
	a.Learn(all) // what is there already, and what has gone
	if got := a.Lost().Duplicates; got != 2000-limit {
		t.Errorf("%d requests were there already, want %d", got, 2000-limit)
	}
	for len(a.known.hosts) > 0 {
		a.known.forgetHost(a.known.recent.Back().Value.(*host))
	}
	if got := a.Traced(); got.Unmatched != 2000-limit || a.Known() != 0 || len(a.known.tracing) != 0 {
		t.Errorf("with every host forgotten: %+v, %d bytes; want %d unmatched", got, a.Known(), 2000-limit)
	}
}
