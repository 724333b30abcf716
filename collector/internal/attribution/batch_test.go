package attribution

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// both returns spans of two processes in one batch.
func both(a, b ptrace.Traces) ptrace.Traces {
	b.ResourceSpans().MoveAndAppendTo(a.ResourceSpans())
	return a
}

// requested returns how many requests were counted.
func requested(a *Attributor) (n int64) {
	md, ok := summed(a, start, start)
	if !ok {
		return 0
	}
	for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if m.Name() == semconv.MetricRequests {
			for _, p := range m.Sum().DataPoints().All() {
				n += p.IntValue()
			}
		}
	}
	return n
}

// TestBatch: what is settled comes back first, the rest when its time is over;
// all of it takes memory, and its requests count, until and when it is handed on.
func TestBatch(t *testing.T) {
	s, a, c := newSender(), New(Config{SlowSpan: time.Millisecond}), new(catcher)
	other := newSender()
	other.pid = 43
	b := a.HoldBatch(both(s.span(100*sec, 100*sec+10*ms), other.span(100*sec, 100*sec+20*ms)), c.sink(), start.Add(time.Minute))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+2*ms, 100*sec+5*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Tick(start)
	<-b.More()
	p, all := b.Take()
	if got := p.Spans.SpanCount(); got != 1 || all {
		t.Fatalf("took %d spans, all: %v; want 1 of 2", got, all)
	}
	m := p.Spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	if got := floats(m)["otelgc.stall.gc.pause"]; !cmp.Equal(got, 3e-3, near) {
		t.Errorf("gc.pause: got %v, want 3 ms", got)
	}
	if n, _ := a.Held(); n != 2 || requested(a) != 0 {
		t.Errorf("%d spans held, %d requests; want 2 and none: nothing was handed on", n, requested(a))
	}
	if got := p.Slow.LogRecordCount(); got != 1 {
		t.Errorf("%d events of slow spans with the first, want 1", got)
	}
	p.Done(true)
	if n, _ := a.Held(); n != 1 || requested(a) != 1 {
		t.Errorf("%d spans held, %d requests; want 1 of each", n, requested(a))
	}
	a.Tick(start.Add(time.Minute))
	<-b.More()
	if p, all = b.Take(); p.Spans.SpanCount() != 1 || !all {
		t.Fatalf("took %d spans, all: %v; want the rest, 1", p.Spans.SpanCount(), all)
	}
	p.Done(false)
	if n, bytes := a.Held(); n != 0 || bytes != 0 || requested(a) != 1 {
		t.Errorf("%d spans held in %d bytes, %d requests; want 0, 0, and 1: the other was not taken", n, bytes, requested(a))
	}
	if len(c.spans) != 0 || len(c.slow) != 0 {
		t.Errorf("the sink got %d spans and %d events, want none: they go back", len(c.spans), len(c.slow))
	}
}

// TestBatchHurry: a batch that nobody wants to wait for is there by the next Tick.
func TestBatchHurry(t *testing.T) {
	s, a := newSender(), New(Config{})
	b := a.HoldBatch(s.span(100*sec, 100*sec+ms), Sink{}, start.Add(time.Hour))
	a.Tick(start)
	if p, all := b.Take(); p.Spans.SpanCount() != 0 || all {
		t.Fatal("the span did not wait")
	}
	b.Hurry()
	a.Tick(start)
	if p, all := b.Take(); p.Spans.SpanCount() != 1 || !all {
		t.Error("the span did not hurry")
	}
}

// TestBatchConcurrent: batches, events and releases at once, for the race
// detector; every span comes back once.
func TestBatchConcurrent(t *testing.T) {
	const senders, rounds = 4, 100
	a, c := New(Config{}), new(catcher)
	var wg sync.WaitGroup
	var mu sync.Mutex
	spans := 0
	for n := range int64(senders) {
		wg.Go(func() {
			s, o := newSender(), newSender()
			s.pid, o.pid = 42+2*n, 43+2*n
			for i := range int64(rounds) {
				at := 100*sec + i*20*ms
				b := a.HoldBatch(both(s.span(at, at+10*ms), o.span(at, at+10*ms)), c.sink(), start.Add(time.Hour))
				a.Learn(s.status(stall.GCWatch, at+20*ms))
				if i%2 == 0 {
					b.Hurry()
				} else {
					a.Learn(o.status(stall.GCWatch, at+20*ms))
				}
				for all := false; !all; {
					var p *Parcel
					<-b.More()
					p, all = b.Take()
					mu.Lock()
					spans += p.Spans.SpanCount()
					mu.Unlock()
					p.Done(true)
				}
			}
		})
	}
	quit := make(chan struct{})
	var release sync.WaitGroup
	release.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				a.Tick(start)
			}
		}
	})
	wg.Wait()
	close(quit)
	release.Wait()
	if n, bytes := a.Held(); spans != 2*senders*rounds || n != 0 || bytes != 0 {
		t.Errorf("%d spans came back, %d held in %d bytes; want %d, 0, 0", spans, n, bytes, 2*senders*rounds)
	}
	if got := requested(a); got != 2*senders*rounds {
		t.Errorf("%d requests, want %d", got, 2*senders*rounds)
	}
}
