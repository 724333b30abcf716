package attribution

import (
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// FuzzAttributor: whatever events and spans claim, no span is lost, no figure is
// out of range, the owners of a span sum to its length, and memory is bounded.
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
		s.collection(stall.GCWatch, 1, 100*sec, 100*sec+ms, 5), s.status(stall.GCWatch, 101*sec), s.status(stall.ProbeSpin, 101*sec),
		s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, 100*sec+2*ms, 100*sec+4*ms),
	} {
		seed(ld, s.span(100*sec, 100*sec+10*ms))
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	seed(all, s.span(100*sec, 100*sec+10*ms))
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
		a, c := New(Config{MaxHosts: 4, MaxProcesses: 4, SlowSpan: 1}), new(catcher)
		a.Learn(ld)
		a.Hold(td, c.sink(), start)
		a.Tick(start.Add(time.Second))
		a.Flush()
		if len(c.spans) != want {
			t.Fatalf("%d spans went in, %d came out", want, len(c.spans))
		}
		for _, span := range c.spans {
			m := span.Attributes()
			cover, ok := m.Get(stall.AttrCoverage)
			if !ok {
				continue // it came with charges of its own
			}
			if v := cover.Double(); carries(m) == nil || !(v >= 0 && v <= 1) {
				t.Fatalf("coverage %v", v)
			}
			if got, want := carries(m).Total.Seconds(), duration(span).Seconds(); math.Abs(got-want) > 1e-6 {
				t.Fatalf("the owners sum to %v s of a span of %v s", got, want)
			}
		}
		if len(a.known.hosts) > 4 || a.known.processes > 4 {
			t.Fatalf("kept %d hosts and %d processes", len(a.known.hosts), a.known.processes)
		}
	})
}
