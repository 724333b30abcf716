package attribution

import (
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestBatchOverTheLimit: of a batch that finds no room nothing is held.
func TestBatchOverTheLimit(t *testing.T) {
	s, a := newSender(), New(Config{MaxSpans: 1})
	b := a.HoldBatch(both(s.span(100*sec, 100*sec+ms), s.span(100*sec, 100*sec+ms)), Sink{}, start.Add(time.Hour))
	<-b.More()
	p, all := b.Take()
	if got := p.Spans.SpanCount(); got != 2 || !all {
		t.Fatalf("took %d spans, all: %v; want both at once", got, all)
	}
	if m := p.Spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes(); len(floats(m)) != 0 {
		t.Errorf("attributes %v, want none", floats(m))
	}
	p.Done(true)
	if n, bytes := a.Held(); n != 0 || bytes != 0 || a.Lost().SpansOverLimit != 2 {
		t.Errorf("%d spans held in %d bytes, %d over the limit; want 0, 0, 2", n, bytes, a.Lost().SpansOverLimit)
	}
	if _, all := a.HoldBatch(ptrace.NewTraces(), Sink{}, start).Take(); !all {
		t.Error("a batch of nothing is never over")
	}
}

// TestBatchSlow: events of slow spans for which there is no room do not wait.
func TestBatchSlow(t *testing.T) {
	const spans = 400 // of which the events take more than the rest of the room
	s, a, c := newSender(), New(Config{MaxBytes: 1 << 20, SlowSpan: 1}), new(catcher)
	td := ptrace.NewTraces()
	for range spans {
		td = both(td, s.span(100*sec, 100*sec+ms))
	}
	b := a.HoldBatch(td, c.sink(), start)
	a.Tick(start)
	p, all := b.Take()
	if kept := p.Slow.LogRecordCount(); !all || kept == 0 || len(c.slow) == 0 || kept+len(c.slow) != spans {
		t.Errorf("all: %v, %d events wait, %d went on; want some of each, %d", all, kept, len(c.slow), spans)
	}
	p.Done(true)
	if _, bytes := a.Held(); bytes != 0 {
		t.Errorf("%d bytes held after all", bytes)
	}
}

// TestBatchSlowResource: an event of a slow span that waits takes as much as its
// resource does.
func TestBatchSlowResource(t *testing.T) {
	const spans = 8 // which take more than half of the room
	s, a, c := newSender(), New(Config{MaxBytes: 1 << 20, SlowSpan: 1}), new(catcher)
	td := ptrace.NewTraces()
	for range spans {
		one := s.span(100*sec, 100*sec+ms)
		for i := range 800 {
			one.ResourceSpans().At(0).Resource().Attributes().PutInt(strconv.Itoa(i), 0)
		}
		td = both(td, one)
	}
	b := a.HoldBatch(td, c.sink(), start)
	a.Tick(start)
	p, all := b.Take()
	if kept := p.Slow.LogRecordCount(); !all || kept == 0 || len(c.slow) == 0 || kept+len(c.slow) != spans {
		t.Errorf("all: %v, %d events wait, %d went on; want some of each, %d", all, kept, len(c.slow), spans)
	}
	p.Done(true)
	if _, bytes := a.Held(); bytes != 0 {
		t.Errorf("%d bytes held after all", bytes)
	}
}

// TestBatchNothingSlow: a sink is not told of nothing, even where no room is left.
func TestBatchNothingSlow(t *testing.T) {
	s, a := newSender(), New(Config{SlowSpan: time.Hour})
	b := a.HoldBatch(s.span(100*sec, 100*sec+ms), Sink{Slow: func(plog.Logs) { t.Error("no span was slow, and the sink was told") }}, start)
	a.account.maxBytes = 0
	a.Tick(start)
	if _, all := b.Take(); !all {
		t.Fatal("the span waits, and nothing is proven")
	}
}

// TestBatchWaiters: many who wait with next to nothing are too many.
func TestBatchWaiters(t *testing.T) {
	const room = 1 << 20
	s, a := newSender(), New(Config{MaxBytes: room})
	waiting := 0
	for range 1000 {
		b := a.HoldBatch(s.span(100*sec, 100*sec+ms), Sink{}, start.Add(time.Hour))
		if _, all := b.Take(); !all {
			waiting++
		}
	}
	if waiting == 0 || waiting > room/waiterBytes {
		t.Errorf("%d wait, want at most %d", waiting, room/waiterBytes)
	}
}

// TestBatchServices: the sums that wait take memory, and for want of it they are
// those of other services; no request is lost.
func TestBatchServices(t *testing.T) {
	const services = 200
	s, a := newSender(), New(Config{MaxBytes: 1 << 20})
	s.boot = "nobody's"
	td := ptrace.NewTraces()
	for i := range services {
		one := s.span(100*sec, 100*sec+ms)
		one.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", time.Duration(i).String())
		td = both(td, one)
	}
	b := a.HoldBatch(td, Sink{Count: true}, start)
	a.Tick(start)
	p, all := b.Take()
	if !all || p.Spans.SpanCount() != services {
		t.Fatalf("took %d spans, all: %v", p.Spans.SpanCount(), all)
	}
	if _, bytes := a.Held(); bytes > 1<<20 {
		t.Errorf("%d bytes held, want at most 1 MiB", bytes)
	}
	if n := len(p.sums); n < 2 || n >= services || p.sums[otherServices] == nil {
		t.Errorf("the sums of %d services, want fewer than %d, and those of others", n, services)
	}
	var requests uint64
	for _, t := range p.sums {
		for b := range t.Sums {
			for f := range t.Sums[b] {
				requests += t.Sums[b][f].Hits[0][0].Requests
			}
		}
	}
	if requests != services {
		t.Errorf("%d requests, want %d", requests, services)
	}
	p.Done(true)
	if _, bytes := a.Held(); bytes != 0 {
		t.Errorf("%d bytes held after all", bytes)
	}
}
