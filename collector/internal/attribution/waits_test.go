package attribution

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/services"
	"github.com/otelgc/otelgc/collector/internal/wire"
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

// waits has the parcels of a sender that waits for them in ready.
func (s Sink) waits(ctx context.Context, ready chan *Parcel) Sink {
	s.Waits, s.Take = ctx, func(p *Parcel) { ready <- p }
	return s
}

// end ends what is ready, and returns how many spans and events of slow spans that was.
func end(ready chan *Parcel) (spans, slow int) {
	for range len(ready) {
		p := <-ready
		spans += p.Spans.SpanCount()
		slow += p.Slow.LogRecordCount()
		p.Done(true)
	}
	return spans, slow
}

// TestWait: a sender that waits gets first what is settled, the rest when its time is
// over; all of it takes memory, and its requests count, until and when it is handed on.
func TestWait(t *testing.T) {
	s, a, c := newSender(), New(Config{Wait: time.Minute, SlowSpan: time.Millisecond}), new(catcher)
	other := newSender()
	other.pid = 43
	ready := make(chan *Parcel, 2)
	a.Hold(both(s.span(100*sec, 100*sec+10*ms), other.span(100*sec, 100*sec+20*ms)), c.sink().waits(context.Background(), ready), start)
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+2*ms, 100*sec+5*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Tick(start)
	if len(ready) != 1 {
		t.Fatalf("%d parcels are ready, want 1 of 2", len(ready))
	}
	p := <-ready
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
	if len(ready) != 1 {
		t.Fatalf("%d parcels are ready, want the rest, 1", len(ready))
	}
	(<-ready).Done(false)
	if n, bytes := a.Held(); n != 0 || bytes != 0 || requested(a) != 1 {
		t.Errorf("%d spans held in %d bytes, %d requests; want 0, 0, and 1: the other was not taken", n, bytes, requested(a))
	}
	if len(c.spans) != 0 || len(c.slow) != 0 {
		t.Errorf("the sink got %d spans and %d events, want none: they are with the parcels", len(c.spans), len(c.slow))
	}
}

// TestWaitGone: spans of a sender that has gone are due at the next Tick.
func TestWaitGone(t *testing.T) {
	s, a := newSender(), New(Config{Wait: time.Hour})
	ctx, gone := context.WithCancel(context.Background())
	ready := make(chan *Parcel, 1)
	a.Hold(s.span(100*sec, 100*sec+ms), Sink{}.waits(ctx, ready), start)
	if a.Tick(start); len(ready) != 0 {
		t.Fatal("the span did not wait")
	}
	gone()
	if a.Tick(start); len(ready) != 1 {
		t.Error("the span waits on")
	}
}

// TestWaitConcurrent: senders that wait, events and releases at once, for the race
// detector; every span comes back once.
func TestWaitConcurrent(t *testing.T) {
	const senders, rounds = 4, 100
	a, c := New(Config{Wait: time.Hour}), new(catcher)
	var wg sync.WaitGroup
	var mu sync.Mutex
	spans := 0
	for n := range int64(senders) {
		wg.Go(func() {
			s, o := newSender(), newSender()
			s.pid, o.pid = 42+2*n, 43+2*n
			for i := range int64(rounds) {
				at := 100*sec + i*20*ms
				ctx, gone := context.WithCancel(context.Background())
				ready := make(chan *Parcel, 2)
				a.Hold(both(s.span(at, at+10*ms), o.span(at, at+10*ms)), c.sink().waits(ctx, ready), start)
				a.Learn(s.status(stall.GCWatch, at+20*ms))
				if i%2 == 0 {
					gone()
				} else {
					a.Learn(o.status(stall.GCWatch, at+20*ms))
				}
				for range 2 {
					p := <-ready
					mu.Lock()
					spans += p.Spans.SpanCount()
					mu.Unlock()
					p.Done(true)
				}
				gone()
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

// TestWaitOverTheLimit: spans that find no room go on at once, also of a sender that
// waits.
func TestWaitOverTheLimit(t *testing.T) {
	s, a := newSender(), New(Config{MaxSpans: 1})
	ctx, gone := context.WithCancel(context.Background())
	ready := make(chan *Parcel, 2)
	a.Hold(both(s.span(100*sec, 100*sec+ms), s.span(100*sec, 100*sec+ms)), Sink{}.waits(ctx, ready), start)
	if len(ready) != 1 || a.Lost().SpansOverLimit != 1 {
		t.Fatalf("%d parcels are ready, %d spans over the limit; want 1 of each", len(ready), a.Lost().SpansOverLimit)
	}
	p := <-ready
	if m := p.Spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes(); len(floats(m)) != 0 {
		t.Errorf("attributes %v, want none", floats(m))
	}
	p.Done(true)
	gone()
	a.Tick(start)
	if spans, _ := end(ready); spans != 1 {
		t.Errorf("%d spans came back later, want 1", spans)
	}
	if n, bytes := a.Held(); n != 0 || bytes != 0 {
		t.Errorf("%d spans held in %d bytes; want 0, 0", n, bytes)
	}
}

// someWait: of slow spans some wait with their events, and some events go on.
func someWait(t *testing.T, a *Attributor, c *catcher, td ptrace.Traces, spans int) {
	t.Helper()
	ready := make(chan *Parcel, spans)
	a.Hold(td, c.sink().waits(context.Background(), ready), start)
	a.Flush()
	if all, kept := end(ready); all != spans || kept == 0 || len(c.slow) == 0 || kept+len(c.slow) != spans {
		t.Errorf("%d spans, %d events wait, %d went on; want some of each, %d", all, kept, len(c.slow), spans)
	}
	if _, bytes := a.Held(); bytes != 0 {
		t.Errorf("%d bytes held after all", bytes)
	}
}

// TestWaitSlow: events of slow spans for which there is no room do not wait.
func TestWaitSlow(t *testing.T) {
	const spans = 400 // of which the events take more than the rest of the room
	s, a, c := newSender(), New(Config{MaxBytes: 1 << 20, SlowSpan: 1}), new(catcher)
	td := ptrace.NewTraces()
	for range spans {
		td = both(td, s.span(100*sec, 100*sec+ms))
	}
	someWait(t, a, c, td, spans)
}

// TestWaitSlowResource: an event of a slow span that waits takes as much as its
// resource does.
func TestWaitSlowResource(t *testing.T) {
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
	someWait(t, a, c, td, spans)
}

// TestWaitNothingSlow: a sink is not told of nothing, even where no room is left.
func TestWaitNothingSlow(t *testing.T) {
	s, a := newSender(), New(Config{SlowSpan: time.Hour})
	ready := make(chan *Parcel, 1)
	sink := Sink{Slow: func(plog.Logs) { t.Error("no span was slow, and the sink was told") }}
	a.Hold(s.span(100*sec, 100*sec+ms), sink.waits(context.Background(), ready), start)
	a.budget.MaxBytes = 0
	a.Flush()
	if spans, _ := end(ready); spans != 1 {
		t.Fatal("the span waits, and nothing is proven")
	}
}

// TestWaiters: many who wait with next to nothing are too many.
func TestWaiters(t *testing.T) {
	const room = 1 << 20
	s, a := newSender(), New(Config{MaxBytes: room})
	for range 1000 {
		td, deep := s.span(100*sec, 100*sec+ms), ptrace.NewTraces() // the first of which never waits
		v := deep.ResourceSpans().AppendEmpty().Resource().Attributes().PutEmpty("deep")
		for range 2 * wire.MaxDepth {
			v = v.SetEmptySlice().AppendEmpty()
		}
		a.Hold(both(deep, td), Sink{}.waits(context.Background(), make(chan *Parcel, 2)), start)
	}
	if waiting, _ := a.Held(); waiting == 0 || waiting > room/waiterBytes {
		t.Errorf("%d wait, want at most %d", waiting, room/waiterBytes)
	}
}

// TestWaitServices: the sums that wait take memory; no request is lost.
func TestWaitServices(t *testing.T) {
	const most = 200
	s, a := newSender(), New(Config{MaxBytes: 1 << 20})
	s.boot = "nobody's"
	td := ptrace.NewTraces()
	for i := range most {
		one := s.span(100*sec, 100*sec+ms)
		one.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", time.Duration(i).String())
		td = both(td, one)
	}
	ready := make(chan *Parcel, most)
	a.Hold(td, Sink{Count: true}.waits(context.Background(), ready), start)
	_, before := a.Held()
	a.Flush()
	if _, bytes := a.Held(); len(ready) != most || bytes != before || bytes < most*services.CellBytes || bytes > 1<<20 {
		t.Errorf("%d parcels in %d bytes, before in %d; want %d in as many, at least %d", len(ready), bytes, before, most, most*services.CellBytes)
	}
	var requests uint64
	for range most {
		p := <-ready
		for _, c := range p.requests {
			requests += c.Hits[0][0].Requests
		}
		p.Done(true)
	}
	if requests != most {
		t.Errorf("%d requests, want %d", requests, most)
	}
	if _, bytes := a.Held(); bytes != 0 {
		t.Errorf("%d bytes held after all", bytes)
	}
}

// TestDueFor: spans are held for the time that their sender gives, less what it
// takes to hand them on.
func TestDueFor(t *testing.T) {
	now := time.Now()
	for _, x := range []struct{ deadline, wait, want time.Duration }{
		{0, 10 * time.Second, 10 * time.Second},
		{15 * time.Second, 10 * time.Second, 10 * time.Second},
		{10 * time.Second, 10 * time.Second, 8 * time.Second},
		{-time.Second, 10 * time.Second, -800 * time.Millisecond},
	} {
		ctx := context.Background()
		if x.deadline != 0 {
			var cancel func()
			ctx, cancel = context.WithDeadline(ctx, now.Add(x.deadline))
			defer cancel()
		}
		if got := dueFor(ctx, now, x.wait).Sub(now); got != x.want {
			t.Errorf("deadline %v, wait %v: held for %v, want %v", x.deadline, x.wait, got, x.want)
		}
	}
}
