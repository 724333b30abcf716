// Package spans gives the spans of OpenTelemetry the time that stalls cost them,
// with no code in any handler:
//
//	sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
//		spans.NewProcessor(m, sdktrace.NewBatchSpanProcessor(exporter))))
//
// Each sampled span waits, ended, until the sources have seen all of its time,
// and then goes on to the next processor with these attributes:
//
//	otelgc.stall.<cause>      seconds that the cause cost it, for each that cost any
//	otelgc.stall.app          seconds of the program's own, if any
//	otelgc.stall.app_or_host  seconds in which it ran and the machine was not watched
//	                          for this process, if any: a Collector that has the
//	                          machine's gaps takes them from these
//	otelgc.stall.uncertain    seconds that a stall covers only within its slack, if any
//	otelgc.stall.unseen       seconds in which the runtime was not watched exactly
//	otelgc.stall.coverage     fraction of it in which it was
//	otelgc.gc.overlap         none, one_collection, several_collections
//	otelgc.fidelity           exact or cycle
//	otelgc.boot.id, process.pid
//
// The seconds sum to its length.
//
// A span that starts within a slice of exact tracing has the goroutine that
// started it followed. Where a span's work moves to another goroutine, that one is not
// seen. A span that lasts for more than a minute may be followed no longer, or one that
// never ends would be for ever: otelgc.monitor.dropped counts those. Spans are no
// requests, and count in no other metric of otelgc.
package spans

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// Many spans are resolved at once, up to a second's worth and more, and a batch
// processor drops what its queue has no room for: 2,048 by default. So they are
// handed on in portions, over half a second.
const (
	portions     = 32 // of maxHeld spans each is half of that queue
	leastPortion = 64
	portionEvery = 16 * time.Millisecond
	flushEvery   = maxHeld / portions // spans, while ForceFlush waits
	maxHeld      = entry.MaxSpans

	// flushTimeout bounds each flush of the next processor while other spans may end:
	// as long as an OTLP exporter takes by default until it gives an export up. A batch
	// processor loses the batch whose export is ended sooner, and a dead Collector must
	// not hold up other spans for longer.
	flushTimeout = 10 * time.Second

	pollEvery = time.Millisecond
)

// NewProcessor returns a processor that decorates spans and hands them to next,
// on a goroutine of its own, in the order in which they are resolved. Many are at
// once: those are spread over half a second, so that they find room in the queue of
// a batch processor. Spans that are recorded and not sampled go on at once, as they
// are.
//
// A span waits for three seconds at most, the deadline of a source, unless next hangs.
// No more than 32,768 wait: those over that go on at once without attributes, counted
// in otelgc.monitor.dropped.
//
// ForceFlush and Shutdown decorate what waits with what is known by then, hand it
// on, and call those of next: no span is lost. Where the time of Shutdown's context
// does not suffice, next has what is left when it takes it, after its own Shutdown.
// Spans that end from Shutdown on go on at once, as they are. The monitor may be
// shut down before or after. With a nil Monitor, and in a bubble of testing/synctest,
// the processor is next itself.
func NewProcessor(m *otelgc.Monitor, next sdktrace.SpanProcessor) sdktrace.SpanProcessor {
	if m == nil || next == nil {
		return next
	}
	// The runtime ends the program if the monitor, which is outside, wakes a worker in
	// a bubble.
	if _, err := stall.NewClock(); errors.Is(err, stall.ErrNotSupported) {
		return next
	}
	p := newProcessor(entry.Of(m), next)
	p.worker.Go(p.run)
	return p
}

func newProcessor(m entry.Monitor, next sdktrace.SpanProcessor) *processor {
	p := &processor{m: m, next: next, wake: make(chan struct{}, 1), quit: make(chan struct{})}
	if id, err := stall.BootID(); err == nil {
		p.identity = append(p.identity, attribute.String(semconv.AttrBootID, id))
	}
	p.identity = append(p.identity, attribute.Int(semconv.AttrProcessPID, os.Getpid()))
	return p
}

type processor struct {
	m        entry.Monitor
	next     sdktrace.SpanProcessor
	identity []attribute.KeyValue // of this process
	marks    marks

	held, passed atomic.Uint64                   // spans that were held, ever, and those of them handed on
	closed       atomic.Bool                     // no more are held
	waiter       atomic.Pointer[context.Context] // of the call that waits until all are handed on
	wake, quit   chan struct{}
	worker       sync.WaitGroup
	once         sync.Once
	unflushed    int // spans that next has had since it last had time, or was flushed; of the worker

	mu           sync.Mutex
	ready, spare []*decorated
}

// OnStart marks the goroutine, if it is traced just now.
func (p *processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	p.next.OnStart(parent, s)
	if c := s.SpanContext(); c.IsSampled() {
		if mark := p.m.Mark(p.m.Instant(s.StartTime())); mark.OK {
			p.marks.put(p.m, c.SpanID(), mark)
		}
	}
}

// OnEnd holds the span until its time has owners.
func (p *processor) OnEnd(s sdktrace.ReadOnlySpan) {
	c := s.SpanContext()
	if !c.IsSampled() {
		p.next.OnEnd(s)
		return
	}
	mark := p.marks.take(c.SpanID())
	if !p.hold(s, mark) {
		p.m.Release(mark)
		p.next.OnEnd(s)
	}
}

// hold reports false if the span cannot wait.
func (p *processor) hold(s sdktrace.ReadOnlySpan, mark entry.Mark) bool {
	passed := p.passed.Load() // before held, which is never behind it
	if p.held.Load()-passed >= maxHeld {
		p.m.CountDropped("span", "held_limit", 1)
		return false
	}
	d := &decorated{ReadOnlySpan: s, p: p}
	w := stall.Window{Start: p.m.Instant(s.StartTime()), End: p.m.Instant(s.EndTime())}
	p.held.Add(1) // before closed is read: the worker ends when it has handed on all
	if p.closed.Load() || !p.m.Resolve(mark, w, d.resolved) {
		p.passed.Add(1)
		p.wakeWorker()
		return false
	}
	return true
}

// put leaves a decorated span for the worker.
func (p *processor) put(d *decorated) {
	p.mu.Lock()
	p.ready = append(p.ready, d)
	p.mu.Unlock()
	p.wakeWorker()
}

func (p *processor) wakeWorker() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run hands on what is decorated, after quit until nothing is held. Next may
// block: then it blocks this goroutine alone, and spans go past when too
// many wait.
func (p *processor) run() {
	for quit := p.quit; quit != nil || p.passed.Load() < p.held.Load(); {
		select {
		case <-p.wake:
			p.handOn()
		case <-quit:
			quit = nil
		}
	}
}

// handOn hands on what is decorated by now.
func (p *processor) handOn() {
	p.mu.Lock()
	batch := p.ready
	p.ready, p.spare = p.spare[:0], nil
	p.mu.Unlock()
	portion := max(len(batch)/portions, leastPortion)
	for i, d := range batch {
		waiter := p.waiter.Load()
		switch {
		case waiter != nil && p.unflushed >= flushEvery:
			p.flush(waiter)
		case waiter == nil && i == 0:
			p.unflushed = 0
		case waiter == nil && p.unflushed >= portion:
			p.rest()
		}
		batch[i] = nil
		p.unflushed++
		p.pass(d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = batch[:0]
}

// rest gives next the time to empty its queue.
func (p *processor) rest() {
	time.Sleep(portionEvery)
	p.unflushed = 0
}

// flush empties the queue of next for the call that waits. Where that fails, or takes too
// long, the spans after it are handed on as if no call waited. From Shutdown on there are no
// other spans that it could hold up, and it has all the time of the call.
func (p *processor) flush(waiter *context.Context) {
	defer p.countPanic("span_flush")
	p.unflushed = 0
	ctx := *waiter
	if !p.closed.Load() {
		limited, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		ctx = limited
	}
	if err := p.next.ForceFlush(ctx); err != nil {
		p.waiter.CompareAndSwap(waiter, nil) // the call that waits flushes once more, and returns the error
		p.rest()
	}
}

// pass hands a span on.
func (p *processor) pass(d *decorated) {
	defer p.passed.Add(1)
	defer p.countPanic("span")
	p.next.OnEnd(d)
}

// countPanic keeps a panic of next from ending the program: nothing above this goroutine
// could recover it.
func (p *processor) countPanic(item string) {
	if v := recover(); v != nil {
		p.m.CountPanic(item, "the span processor after package otelgc/spans", v)
	}
}

// ForceFlush hands on all spans that have ended, with what is known of them.
func (p *processor) ForceFlush(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	return p.next.ForceFlush(ctx)
}

// Shutdown does the same and ends the processor, and next.
func (p *processor) Shutdown(ctx context.Context) error {
	var err error
	p.once.Do(func() {
		p.closed.Store(true)
		err = p.settle(ctx)
		close(p.quit)
		if err == nil {
			p.worker.Wait()
		}
		err = errors.Join(err, p.next.Shutdown(ctx))
	})
	return err
}

// settle waits until every span that is held by now has been handed on. The worker
// gets a context of its own: the caller may be in a bubble of testing/synctest, whose
// channels are closed to goroutines outside.
func (p *processor) settle(ctx context.Context) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p.waiter.Store(&own)
	defer p.waiter.CompareAndSwap(&own, nil)
	for upTo := p.held.Load(); p.passed.Load() < upTo; {
		// Where the monitor is shut down meanwhile, that resolves them.
		err := p.m.ResolveNow(ctx)
		if err == nil && p.passed.Load() < upTo {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(pollEvery):
			}
		}
		if err != nil {
			return fmt.Errorf("otelgc/spans: %d spans wait still: %w", upTo-min(upTo, p.passed.Load()), err)
		}
	}
	return nil
}
