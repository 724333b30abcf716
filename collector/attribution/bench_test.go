package attribution

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// BenchmarkAttributor holds, joins and hands on batches of 1,000 spans in a time
// that holds 1,000 pauses and gaps of the machine.
func BenchmarkAttributor(b *testing.B) {
	const batch, stalls = 1000, 1000
	s, a := newSender(), New(Config{})
	for i := range int64(stalls / 2) {
		at := 100*sec + i*10*ms
		a.Learn(s.collection(stall.GCWatch, i+1, at, at+100_000, 0))
		a.Learn(s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, at+5*ms, at+5*ms+50_000))
	}
	a.Learn(s.status(stall.GCWatch, 106*sec))
	spans := s.span(100*sec, 100*sec+ms)
	list := spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	list.EnsureCapacity(batch)
	for i := int64(1); i < batch; i++ {
		sp := list.AppendEmpty()
		list.At(0).CopyTo(sp)
		sp.SetStartTimestamp(pcommon.Timestamp(offset + 100*sec + i*5*ms))
		sp.SetEndTimestamp(pcommon.Timestamp(offset + 100*sec + i*5*ms + 3*ms))
	}
	n := 0
	sink := Sink{Count: true, Traces: func(td ptrace.Traces) { n += td.SpanCount() }}
	b.ReportAllocs()
	for b.Loop() {
		td := ptrace.NewTraces()
		spans.CopyTo(td) // as the receiver makes them
		a.Hold(td, sink, time.Time{})
		a.Flush()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "spans/s")
}
