package spans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

func start(t testing.TB, opts ...otelgc.Option) *otelgc.Monitor {
	t.Helper()
	m, err := otelgc.Start(append([]otelgc.Option{otelgc.WithBoard("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func valueOf(s sdktrace.ReadOnlySpan, key string) (attribute.Value, bool) {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}

// TestDecorates: spans come out of an ordinary exporter with their own
// attributes and ours, and the parts of their time sum to their length.
func TestDecorates(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			noleak.Check(t)
			m := start(t, otelgc.WithExactBudget(budget))
			out := tracetest.NewInMemoryExporter()
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, sdktrace.NewSimpleSpanProcessor(out))))
			for mark := m.Mark(); budget > 0 && !mark.OK(); mark = m.Mark() {
				time.Sleep(time.Millisecond)
			}
			tracer := tp.Tracer("test")
			ctx, outer := tracer.Start(context.Background(), "outer", trace.WithAttributes(attribute.String("own", "kept")))
			_, inner := tracer.Start(ctx, "inner")
			for range 3 {
				runtime.GC()
			}
			inner.End()
			outer.End()
			if budget > 0 { // what is known when it is known, not at once
				resume, err := m.PauseExact(context.Background()) // the slice is over
				if err != nil {
					t.Fatal(err)
				}
				resume()
				if err := m.Flush(context.Background()); err != nil {
					t.Fatal(err)
				}
				waitUntil(t, func() bool { return len(out.GetSpans()) == 2 })
			}
			if err := tp.ForceFlush(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := out.GetSpans().Snapshots()
			if len(got) != 2 {
				t.Fatalf("%d spans, want 2", len(got))
			}
			for _, s := range got {
				checkSpan(t, s)
				if f, _ := valueOf(s, stall.AttrFidelity); budget > 0 && f.AsString() != "exact" {
					t.Errorf("%s: fidelity %s, want exact: %v", s.Name(), f.AsString(), s.Attributes())
				}
				if n, _ := valueOf(s, stall.AttrGCOverlap); budget > 0 && n.AsString() != "several_collections" {
					t.Errorf("%s: overlap %s, want several: %v", s.Name(), n.AsString(), s.Attributes())
				}
			}
			if own, _ := valueOf(got[1], "own"); own.AsString() != "kept" {
				t.Errorf("attributes of %s: %v", got[1].Name(), got[1].Attributes())
			}
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := m.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkSpan(t *testing.T, s sdktrace.ReadOnlySpan) {
	t.Helper()
	for _, key := range []string{
		stall.AttrStallPrefix + "unseen", stall.AttrCoverage, stall.AttrGCOverlap, stall.AttrFidelity, stall.AttrProcessPID,
	} {
		if _, ok := valueOf(s, key); !ok {
			t.Errorf("%s has no %s: %v", s.Name(), key, s.Attributes())
		}
	}
	var sum float64
	for _, kv := range s.Attributes() {
		if key := string(kv.Key); strings.HasPrefix(key, stall.AttrStallPrefix) && key != stall.AttrCoverage {
			sum += kv.Value.AsFloat64()
		}
	}
	if whole := s.EndTime().Sub(s.StartTime()).Seconds(); math.Abs(sum-whole) > 1e-6 {
		t.Errorf("%s: the parts of %v s sum to %v s: %v", s.Name(), whole, sum, s.Attributes())
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not done in a minute")
		}
	}
}

// counter counts spans, decorated and not.
type counter struct {
	all, plain atomic.Int64
	block      chan struct{}
}

func (*counter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (*counter) ForceFlush(context.Context) error                { return nil }
func (*counter) Shutdown(context.Context) error                  { return nil }

func (c *counter) OnEnd(s sdktrace.ReadOnlySpan) {
	if _, ok := s.(*decorated); ok {
		if c.block != nil {
			<-c.block
		}
	} else {
		c.plain.Add(1)
	}
	c.all.Add(1)
}

// TestNothingIsLost under many spans of many goroutines, with flushes in
// between, and the monitor's end before the processor's.
func TestNothingIsLost(t *testing.T) {
	for _, monitorFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("monitor first %v", monitorFirst), func(t *testing.T) {
			noleak.Check(t)
			m := start(t, otelgc.WithExactBudget(1))
			var out counter
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
			tracer := tp.Tracer("test")
			const goroutines, each = 8, 2000
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for i := range each {
						ctx, s := tracer.Start(context.Background(), "outer")
						_, inner := tracer.Start(ctx, "inner")
						inner.End()
						s.End()
						if i%500 == 0 {
							_ = tp.ForceFlush(context.Background())
						}
					}
				})
			}
			if monitorFirst {
				if err := m.Shutdown(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			wg.Wait()
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got, want := out.all.Load(), int64(2*goroutines*each); got != want {
				t.Errorf("%d spans came out, want %d", got, want)
			}
			if !monitorFirst && out.plain.Load() != 0 {
				t.Errorf("%d spans came out undecorated", out.plain.Load())
			}
			if err := m.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestBlockedNext: a next processor that hangs holds a bounded number of spans;
// the others go past it.
func TestBlockedNext(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(0))
	out := counter{block: make(chan struct{})}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
	tracer := tp.Tracer("test")
	const over = 100
	for range MaxHeld + over {
		_, s := tracer.Start(context.Background(), "s")
		s.End()
	}
	if got := out.plain.Load(); got != over {
		t.Errorf("%d spans went past, want %d", got, over)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := tp.ForceFlush(ctx); err == nil {
		t.Error("ForceFlush: got nil, want that spans wait still")
	}
	close(out.block)
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := out.all.Load(); got != MaxHeld+over {
		t.Errorf("%d spans came out, want %d", got, MaxHeld+over)
	}
}

// TestShutdownOutOfTime: where next hangs, what Shutdown had no time for waits for
// next on the processor's goroutine, and the monitor goes on.
func TestShutdownOutOfTime(t *testing.T) {
	noleak.Check(t)
	m := start(t, otelgc.WithExactBudget(0))
	out := counter{block: make(chan struct{})}
	p := NewProcessor(m, &out)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)).Tracer("test")
	const n = 10
	for range n {
		_, s := tracer.Start(context.Background(), "s")
		s.End()
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Shutdown(over); err == nil {
		t.Error("Shutdown: got nil, want that spans wait still")
	}
	_, s := tracer.Start(context.Background(), "late")
	s.End()
	if got := out.plain.Load(); got != 1 {
		t.Errorf("%d spans went past, want the one that ended after Shutdown", got)
	}
	// Were the monitor's goroutine in next, this would never return.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := m.ResolveNow(ctx); err != nil {
		t.Errorf("the monitor after that: %v", err)
	}
	close(out.block)
	waitUntil(t, func() bool { return out.all.Load() == n+1 })
}

// narrow is a batch processor with a small queue, which drops what does not fit. It
// is emptied by ForceFlush alone.
type narrow struct {
	counter
	room          int
	queued, most  int
	kept, dropped int
}

func (n *narrow) OnEnd(sdktrace.ReadOnlySpan) {
	if n.queued == n.room {
		n.dropped++
		return
	}
	n.queued++
	n.most = max(n.most, n.queued)
}

func (n *narrow) empty() { n.kept, n.queued = n.kept+n.queued, 0 }

func (n *narrow) ForceFlush(context.Context) error { n.empty(); return nil }

// TestPortions: as many spans as may be held, resolved at once, find room in the
// queue of a batch processor, whether somebody waits for them or not.
func TestPortions(t *testing.T) {
	const room = 2048 // of the SDK's by default
	for name, flushed := range map[string]bool{"in time": false, "somebody waits": true} {
		t.Run(name, func(t *testing.T) {
			m := start(t, otelgc.WithExactBudget(0))
			out := narrow{room: room}
			p := &processor{m: m, next: &out, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
			p.rest, p.emptyWithin = out.empty, emptyWithin // the time suffices
			resolve(t, p, MaxHeld)
			if ctx := context.Background(); flushed {
				p.flush.Store(&ctx)
				p.rest = func() { t.Error("somebody waits, and the worker rests") }
			}
			p.handOn()
			if err := p.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if out.empty(); out.kept != MaxHeld || out.dropped != 0 {
				t.Errorf("%d spans were kept and %d dropped, want all %d kept", out.kept, out.dropped, MaxHeld)
			}
			if out.most > room/2 {
				t.Errorf("%d spans at once, want half of the queue at most", out.most)
			}
		})
	}
}

// resolve has n spans of p wait for the worker.
func resolve(t *testing.T, p *processor, n int) {
	t.Helper()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)).Tracer("test")
	for range n {
		_, s := tracer.Start(context.Background(), "s")
		s.End()
	}
	waitUntil(t, func() bool {
		_ = p.m.ResolveNow(context.Background())
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.ready) == n
	})
}

// costly counts how often it is told to export, and may fail to.
type costly struct {
	counter
	flushes int
	err     error
	hangs   bool // until the context ends
}

func (c *costly) ForceFlush(ctx context.Context) error {
	c.flushes++
	if c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.err
}

// TestFlushesCost: an export takes its time, and who waits for spans has one in
// 1,024 of them; after one that fails the others go on as if nobody waited.
func TestFlushesCost(t *testing.T) {
	type calls struct{ Flushes, Rests int }
	dead := errors.New("nobody listens")
	for name, c := range map[string]struct {
		spans int
		err   error
		want  calls
	}{
		"few":                {63, nil, calls{}},
		"some":               {2000, nil, calls{Flushes: 1}},
		"no whole portions":  {20_000, nil, calls{Flushes: 19}},
		"all":                {MaxHeld, nil, calls{Flushes: 31}},
		"some, and it fails": {2000, dead, calls{1, 1 + 15}},
		"all, and it fails":  {MaxHeld, dead, calls{1, 31}},
		"some, and it hangs": {2000, nil, calls{1, 1 + 15}},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, otelgc.WithExactBudget(0))
			out := costly{err: c.err, hangs: strings.Contains(name, "hangs")}
			p := &processor{m: m, next: &out, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
			rests := 0
			p.rest, p.emptyWithin = func() { rests++ }, 100*time.Millisecond
			resolve(t, p, c.spans)
			ctx := context.Background()
			p.flush.Store(&ctx)
			p.handOn()
			if diff := cmp.Diff(c.want, calls{out.flushes, rests}); diff != "" {
				t.Errorf("what the worker did (-want +got):\n%s", diff)
			}
			if err := p.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			if got := out.all.Load(); got != int64(c.spans) {
				t.Errorf("%d spans came out, want %d", got, c.spans)
			}
		})
	}
}

// patient is a processor whose export takes until the context ends. It says whether
// that is by itself.
type patient struct {
	counter
	in chan bool
}

func (p *patient) ForceFlush(ctx context.Context) error {
	_, limited := ctx.Deadline()
	p.in <- limited
	<-ctx.Done()
	return ctx.Err()
}

// TestShutdownGivesTheTimeItHas: an export that empties the queue of next has all the
// time of Shutdown's context, since no other spans wait for it, and no more; while
// others end it has little.
func TestShutdownGivesTheTimeItHas(t *testing.T) {
	for name, shut := range map[string]bool{"Shutdown": true, "ForceFlush": false} {
		t.Run(name, func(t *testing.T) {
			m := start(t, otelgc.WithExactBudget(0))
			const n = 3 * flushEvery
			out := &patient{in: make(chan bool, n)}
			p := &processor{m: m, next: out, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
			p.rest, p.emptyWithin = func() {}, 100*time.Millisecond
			resolve(t, p, n)
			p.closed.Store(shut)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- p.settle(ctx) }()
			waitUntil(t, func() bool { return p.flush.Load() != nil })
			p.worker.Go(p.run) // all that is resolved is there before it looks
			p.rouse()
			if limited := <-out.in; limited == shut {
				t.Errorf("the export has a limit of its own: %v", limited)
			}
			cancel()
			<-done
			waitUntil(t, func() bool { return out.all.Load() == n })
			close(p.quit)
			p.worker.Wait()
		})
	}
}

// TestSameSpanAgain: spans that cannot be told apart, as of a processor that is
// there twice, take one of the monitor's marks and not all.
func TestSameSpanAgain(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(1))
	p := NewProcessor(m, &counter{})
	waitUntil(t, func() bool { k := m.Mark(); m.Release(k); return k.OK() })
	_, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "s")
	s := span.(sdktrace.ReadWriteSpan)
	const more = 5000 // than there are marks
	for range more {
		p.OnStart(context.Background(), s)
	}
	waitUntil(t, func() bool { k := m.Mark(); m.Release(k); return k.OK() })
	p.OnEnd(s)
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOldMarks: the mark of a span that nobody ends is given up, and counted.
func TestOldMarks(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m := start(t, otelgc.WithExactBudget(1), otelgc.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	var mark otelgc.Mark
	waitUntil(t, func() bool { mark = m.Mark(); return mark.OK() })
	var all marks
	id := trace.SpanID{1}
	all.put(m, id, mark)
	s := all.shardOf(id)
	s.sweep(m, mark.Since())
	if len(s.of) != 1 {
		t.Error("a mark that is not old is given up")
	}
	s.sweep(m, mark.Since()+1)
	if k := all.take(id); k.OK() {
		t.Error("an old mark is kept")
	}
	if got := dropped(t, reader, "span", "mark_reclaimed"); got != 1 {
		t.Errorf("%d old marks counted, want 1", got)
	}
}

// dropped returns how many of an item are counted as dropped.
func dropped(t *testing.T, reader sdkmetric.Reader, item, why string) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	want := attribute.NewSet(attribute.String(stall.AttrItem, item), attribute.String(stall.AttrErrorType, why))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == stall.MetricDropped {
				for _, p := range d.DataPoints {
					if p.Attributes.Equals(&want) {
						n += p.Value
					}
				}
			}
		}
	}
	return n
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
