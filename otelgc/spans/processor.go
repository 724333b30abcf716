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
//	otelgc.stall.app_or_host  seconds in which it ran and nobody watched the machine
//	                          for this process, if any: a Collector that has the
//	                          machine's gaps takes them from these
//	otelgc.stall.uncertain    seconds that a stall covers only within its slack, if any
//	otelgc.stall.unseen       seconds in which nobody watched the runtime exactly
//	otelgc.stall.coverage     fraction of it in which somebody did
//	otelgc.gc.overlap         none, one_collection, several_collections
//	otelgc.fidelity           exact or cycle
//	otelgc.boot.id, process.pid
//
// The seconds sum to its length.
//
// A span that starts within a slice of exact tracing has the goroutine that
// started it followed. Where a span's work moves to another goroutine, that one
// is not seen; and that of a span that lasts for more than a minute, which may be
// one that nobody ends, may be given up (otelgc.monitor.dropped counts them). Spans
// are no requests: they count in no metric of otelgc but that.
package spans

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// MaxHeld bounds the spans that wait. Those over it go on at once without
// attributes, counted in otelgc.monitor.dropped. No source makes a span wait for
// longer than its deadline, three seconds; a next processor that hangs does.
const MaxHeld = 1 << 15

// NewProcessor returns a processor that decorates spans and hands them to next,
// on a goroutine of its own, in the order in which they are resolved. Many are at
// once: those are spread over half a second, so that they find room in the queue of
// a batch processor. Spans that are recorded and not sampled go on at once, as they
// are.
//
// ForceFlush and Shutdown decorate what waits with what is known by then, hand it
// on, and call those of next: no span is lost. Where the time of Shutdown's context
// does not suffice, next has what is left when it takes it, after its own Shutdown.
// Spans that end from Shutdown on go on at once, as they are. The monitor may be
// shut down before or after. With a nil Monitor, and in a bubble of testing/synctest,
// the processor is next itself.
func NewProcessor(m *otelgc.Monitor, next sdktrace.SpanProcessor) sdktrace.SpanProcessor {
	if m == nil || next == nil || bubbled() {
		return next
	}
	p := &processor{m: m, next: next, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
	p.rest, p.emptyWithin = rest, emptyWithin
	p.worker.Go(p.run)
	return p
}

// bubbled reports whether the caller is in a bubble of testing/synctest. The runtime
// ends the program if the monitor, which is outside, rouses a worker in it.
func bubbled() bool {
	_, err := stall.NewClock()
	return errors.Is(err, stall.ErrNotSupported)
}

type processor struct {
	m     *otelgc.Monitor
	next  sdktrace.SpanProcessor
	names names
	marks marks

	taken, passed atomic.Uint64 // spans that were held, ever, and those of them handed on
	emptied       uint64        // how many had been when next last had its queue emptied; of the worker

	closed atomic.Bool                     // no more are held
	flush  atomic.Pointer[context.Context] // of who waits until all are handed on
	rest   func()                          // between two portions
	// emptyWithin is the constant, but in tests.
	emptyWithin time.Duration
	wake        chan struct{}
	quit        chan struct{}
	worker      sync.WaitGroup
	once        sync.Once

	mu    sync.Mutex
	ready []*decorated
	spare []*decorated
}

// OnStart marks the goroutine, if it is traced just now.
func (p *processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	p.next.OnStart(parent, s)
	if c := s.SpanContext(); c.IsSampled() {
		if mark := p.m.MarkFrom(p.m.Instant(s.StartTime())); mark.OK() {
			p.marks.put(p.m, c.SpanID(), mark)
		}
	}
}

// OnEnd has the span wait.
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
func (p *processor) hold(s sdktrace.ReadOnlySpan, mark otelgc.Mark) bool {
	passed := p.passed.Load() // before taken, which is never behind it
	if p.taken.Load()-passed >= MaxHeld {
		p.m.CountDropped("span", "held_limit", 1)
		return false
	}
	d := &decorated{ReadOnlySpan: s, p: p}
	w := stall.Window{Start: p.m.Instant(s.StartTime()), End: p.m.Instant(s.EndTime())}
	p.taken.Add(1) // before closed: the worker ends when it has handed on all
	if p.closed.Load() || !p.m.Resolve(mark, w, d.resolved) {
		p.passed.Add(1)
		p.rouse()
		return false
	}
	return true
}

// offer leaves a decorated span for the worker.
func (p *processor) offer(d *decorated) {
	p.mu.Lock()
	p.ready = append(p.ready, d)
	p.mu.Unlock()
	p.rouse()
}

// rouse has the worker look.
func (p *processor) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run hands on what is decorated, after quit until nothing is held. Next may
// block: then it blocks this goroutine and nobody else, and spans go past when too
// many wait.
func (p *processor) run() {
	for quit := p.quit; quit != nil || p.passed.Load() < p.taken.Load(); {
		select {
		case <-p.wake:
			p.handOn()
		case <-quit:
			quit = nil
		}
	}
}
