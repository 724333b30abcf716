package attribution

import (
	"context"
	"fmt"
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

// FuzzAttributor: whatever events and spans claim, no span is lost, no figure is
// out of range, the owners of a span sum to its length, and memory is bounded: what is
// counted, and of input that is large enough to matter the heap.
func FuzzAttributor(f *testing.F) {
	s := newSender()
	var logs plog.ProtoMarshaler
	var traces ptrace.ProtoMarshaler
	seed := func(ld plog.Logs, td ptrace.Traces) {
		a, err := logs.MarshalLogs(ld)
		if err != nil {
			f.Fatal(err)
		}
		b, err := traces.MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a, b)
	}
	all := plog.NewLogs()
	for _, ld := range []plog.Logs{
		s.status(stall.GCWatch, 99*sec), s.collection(stall.GCWatch, 1, 100*sec, 100*sec+ms, 5), s.status(stall.GCWatch, 101*sec),
		s.status(stall.ProbeSpin, 101*sec), s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, 100*sec+2*ms, 100*sec+4*ms),
	} {
		seed(ld, s.span(100*sec, 100*sec+10*ms))
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	seed(all, s.span(100*sec, 100*sec+10*ms))
	traced := newSender()
	for _, ld := range []plog.Logs{
		traced.status(stall.GoUprobe, 99*sec), traced.traced(100*sec+1000, 100*sec+10*ms+1000, "GET /", map[string]float64{"gc.assist": 4e-3, "app_or_host": 3e-3}),
		traced.traced(100*sec+2*ms, 100*sec+9*ms, "GET /", map[string]float64{"gc.pause": 7e-3}), traced.status(stall.GoUprobe, 101*sec),
	} {
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	seed(all, traced.span(100*sec, 100*sec+10*ms))
	many, flood := plog.NewLogs(), newSender()
	for i := range int64(200) {
		flood.pid, flood.with = i%8+1, m{wire.AttrServiceName: fmt.Sprint(i)}
		flood.status([]stall.Origin{stall.GCWatch, stall.ProbeSpin}[i%2], 100*sec+i*sec).ResourceLogs().MoveAndAppendTo(many.ResourceLogs())
	}
	seed(many, s.span(100*sec, 100*sec+10*ms))
	two := s.span(100*sec, 100*sec+10*ms)
	spans := two.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	spans.At(0).CopyTo(spans.AppendEmpty())
	spans.At(1).SetEndTimestamp(pcommon.Timestamp(103*sec + s.off))
	seed(all, two)
	for _, x := range []struct {
		owner string
		has   float64
	}{{semconv.App.Key(), 5e-3}, {semconv.App.Key(), 600_000}, {semconv.AppOrHost.Key(), 10e-3}, {semconv.Unseen.Key(), 9e-3}} {
		td := s.span(100*sec, 100*sec+10*ms)
		m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		m.PutStr(semconv.AttrFidelity, "exact")
		m.PutDouble(semconv.AttrCoverage, 1)
		m.PutDouble(x.owner, x.has)
		seed(all, td)
	}
	f.Fuzz(func(t *testing.T, events, spans []byte) {
		ld, err := new(plog.ProtoUnmarshaler).UnmarshalLogs(events)
		if err != nil {
			return
		}
		td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(spans)
		if err != nil {
			return
		}
		want := td.SpanCount()
		limit := []int{1 << 20, 16 << 10}[len(events)%2]
		large, before := len(events)+len(spans) > 16<<10, 0
		a, c := New(Config{MaxHosts: 4, MaxProcesses: 4, SlowSpan: 1, MaxBytes: limit}), new(catcher)
		a.Tick(start)
		if large {
			before = heap()
		}
		a.Learn(ld)
		if large {
			if took := heap() - before; took > mostOfHeap*limit {
				t.Fatalf("%d bytes on the heap for what is known, want at most %d", took, mostOfHeap*limit)
			}
		}
		checkKnown(t, a, limit)
		same := ptrace.NewTraces()
		td.CopyTo(same)
		markCarried(td)
		ready := make(chan *Parcel, same.ResourceSpans().Len())
		a.Hold(same, c.sink().waits(context.Background(), ready), start.Add(-a.Wait()))
		a.Tick(start)
		if len(ready) != cap(ready) {
			t.Fatalf("%d of %d parcels came back", len(ready), cap(ready))
		}
		if got, _ := end(ready); got != want {
			t.Fatalf("%d spans went in, %d came back", want, got)
		}
		a.Hold(td, c.sink(), start)
		untouched := len(c.spans) // they found no room
		a.Tick(start.Add(time.Second))
		a.Flush()
		if len(c.spans) != want {
			t.Fatalf("%d spans went in, %d came out", want, len(c.spans))
		}
		for _, span := range c.spans[untouched:] {
			checkShares(t, span)
		}
		if len(a.known.hosts) > 4 || a.known.processes > 4 {
			t.Fatalf("kept %d hosts and %d processes", len(a.known.hosts), a.known.processes)
		}
		if n, bytes := a.Held(); n != 0 || bytes != 0 {
			t.Fatalf("held after all: %d spans, %d bytes", n, bytes)
		}
		for _, h := range a.known.hosts {
			a.known.forgetHost(h)
		}
		if k := &a.known; k.processes != 0 || knownBytes(a) != 0 || len(k.exact) != 0 || len(k.index) != 0 || len(k.named) != 0 {
			t.Fatalf("with every host forgotten: %d processes, %d bytes, %d links, %d names", k.processes, knownBytes(a), len(k.index), len(k.named))
		}
	})
}

// carriedMark holds how much of a span its own process spoke of, if it is believed.
const carriedMark = "fuzz.carried"

// markCarried marks the spans that bring shares of their own. No key of them comes
// twice: of two figures only one is read.
func markCarried(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				m, known := span.Attributes(), map[string]bool{carriedMark: true}
				m.RemoveIf(func(k string, _ pcommon.Value) bool {
					twice := known[k]
					known[k] = true
					return twice
				})
				var own wire.SpanShare
				if length, _ := wire.Duration(span); own.Read(m) && own.Believable(length) {
					m.PutInt(carriedMark, int64(own.Total))
				}
			}
		}
	}
}

// checkShares: every figure of a span can be, and its owners sum to its length, or
// to what its own process said.
func checkShares(t *testing.T, span ptrace.Span) {
	t.Helper()
	m := span.Attributes()
	want, _ := wire.Duration(span)
	total, brought := m.Get(carriedMark)
	if brought {
		want = time.Duration(total.Int())
	}
	cover, ok := m.Get(semconv.AttrCoverage)
	if !ok && !brought || ok && !(cover.Type() == pcommon.ValueTypeDouble && cover.Double() >= 0 && cover.Double() <= 1) {
		t.Fatalf("coverage of %v", m.AsRaw())
	}
	if _, watched := m.Get(semconv.AttrFidelity); !watched && cover.Double() == 0 {
		m.PutStr(semconv.AttrFidelity, "cycle") // nobody knows that
	}
	var own wire.SpanShare
	for k, v := range m.All() {
		if _, is := semconv.OwnerOf(k); is && !(v.Type() == pcommon.ValueTypeDouble && v.Double() >= 0 && v.Double() <= wire.LongestSpan.Seconds()) {
			t.Fatalf("%s of %v", k, m.AsRaw())
		}
	}
	if !own.Read(m) || own.Total != want {
		t.Fatalf("the owners sum to %v of %v: %v", own.Total, want, m.AsRaw())
	}
}

// FuzzParse: a record is not ours, or an error, or an event in which every
// number is one to reckon with; never two of these.
func FuzzParse(f *testing.F) {
	s := newSender()
	for _, ld := range []plog.Logs{
		s.collection(stall.GCWatch, 1, 100*sec, 100*sec+ms, 5), s.status(stall.GCWatch, 101*sec),
		s.gap(stall.TargetWatch, stall.HostPreempted, stall.ScopeTarget, 100*sec+2*ms, 100*sec+4*ms),
		s.event(semconv.EventSuspension, stall.GoTrace, sec, sec+ms, nil), s.traced(sec, sec+ms, "GET /", map[string]float64{"app": 1e-3}), s.event("another", stall.GoTrace, sec, sec+ms, nil),
	} {
		b, err := new(plog.ProtoMarshaler).MarshalLogs(ld)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		ld, err := new(plog.ProtoUnmarshaler).UnmarshalLogs(sent)
		if err != nil {
			return
		}
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					e, ours, err := wire.ParseEvent(r, &wire.Resource{Attributes: rl.Resource().Attributes()})
					if err != nil && !ours || (err != nil || !ours) && !cmp.Equal(e, wire.Event{}, cmp.AllowUnexported(wire.Event{}, wire.Identity{}, semconv.Status{})) {
						t.Fatalf("an event beside %v, ours %v: %+v", err, ours, e)
					}
					if err == nil && ours {
						checkEvent(t, &e)
					}
				}
			}
		}
	})
}

func checkEvent(t *testing.T, e *wire.Event) {
	t.Helper()
	if e.Sender.Boot == "" || e.Origin == stall.NoOrigin || e.Sender.PID < 0 || len(e.Intervals) > semconv.MaxListed || len(e.Status.Unseen) > semconv.MaxListed {
		t.Fatalf("%+v", e)
	}
	for _, v := range e.Intervals {
		if v.Start <= 0 || v.End < v.Start || v.End > semconv.MaxInstant || v.Duration() > time.Hour || v.Slack < 0 || v.Slack > semconv.MaxSlack || v.Cause >= stall.NumCauses {
			t.Fatalf("stall %+v", v)
		}
	}
	if q := e.Traced; (q != nil) != (e.Name == semconv.EventTraced) || q != nil && (q.Start <= 0 || q.End < q.Start || q.End > semconv.MaxInstant || q.Share.Total != q.Duration() || e.Origin != stall.GoTrace || len(q.Task) > wire.MaxName) {
		t.Fatalf("request %+v", q)
	}
	if st := &e.Status; e.Name == semconv.EventSourceStatus && (st.At <= 0 || st.Watermark < 0 || st.Watermark > st.At || st.At > semconv.MaxInstant || st.Wall.Error < 0) {
		t.Fatalf("status %+v", st)
	}
}
