package spans

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

// TestSameSpanAgain: spans that cannot be told apart, as of a processor that is
// there twice, take one of the monitor's marks and not all.
func TestSameSpanAgain(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(1))
	p := NewProcessor(m, &counter{})
	entry.Of(m).Release(waitFollowed(t, m))
	_, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "s")
	s := span.(sdktrace.ReadWriteSpan)
	const more = 5000 // than there are marks
	for range more {
		p.OnStart(context.Background(), s)
	}
	entry.Of(m).Release(waitFollowed(t, m))
	p.OnEnd(s)
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOldMarks: the mark of a span that nobody ends is given up, and counted.
func TestOldMarks(t *testing.T) {
	var m atOnce
	var all marks
	id := func(i byte) trace.SpanID { return trace.SpanID{i, 7: 1} } // of one shard
	mark := func(at time.Duration) entry.Mark { return entry.Mark{At: stall.Instant(at), OK: true} }
	all.put(&m, id(1), mark(time.Hour))
	all.put(&m, id(2), mark(time.Hour+time.Second))
	all.put(&m, id(3), mark(time.Hour+maxMarkAge+time.Second))
	if all.take(id(1)).OK || m.dropped != 1 || len(m.released) != 1 {
		t.Errorf("an old mark is kept; %d are counted, %d released", m.dropped, len(m.released))
	}
	if !all.take(id(2)).OK || !all.take(id(3)).OK {
		t.Error("a mark that is not old is given up")
	}
}

// panicking panics for every second span.
type panicking struct{ counter }

func (p *panicking) OnEnd(s sdktrace.ReadOnlySpan) {
	p.counter.OnEnd(s)
	if p.all.Load()%2 == 0 {
		panic("next's own")
	}
}

// TestNextPanics: the panic of a processor that comes next costs the span that it
// was handed, and neither those after it nor the program.
func TestNextPanics(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(0))
	var out panicking
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
	const n = 10
	for range n {
		_, s := tp.Tracer("test").Start(context.Background(), "s")
		s.End()
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := out.all.Load(); got != n || out.plain.Load() != 0 {
		t.Errorf("%d spans were handed on, %d of them undecorated, want %d and none", got, out.plain.Load(), n)
	}
}

// TestAwkwardSpans: unsampled ones go on at once, and times of the user's own
// making break nothing.
func TestAwkwardSpans(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(0))
	var out counter
	p := NewProcessor(m, &out)
	stub := tracetest.SpanStub{Name: "unsampled"}
	p.OnEnd(stub.Snapshot())
	if out.plain.Load() != 1 {
		t.Error("an unsampled span waits")
	}
	stub.SpanContext = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	})
	now := time.Now()
	for _, times := range [][2]time.Time{
		{}, {now.Round(0), now}, {now.Add(time.Hour), now.Add(2 * time.Hour)}, {now, now.Add(-time.Hour)},
		{now.AddDate(-500, 0, 0), now.AddDate(500, 0, 0)}, {time.Unix(0, 0), time.Unix(0, 0)},
	} {
		stub.StartTime, stub.EndTime = times[0], times[1]
		p.OnEnd(stub.Snapshot())
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := out.all.Load(); got != 7 {
		t.Errorf("%d spans came out, want 7", got)
	}
	if NewProcessor(nil, &out) != sdktrace.SpanProcessor(&out) {
		t.Error("without a monitor the processor is not next itself")
	}
}
