package spans

import (
	"context"
	"time"
)

// Spans are resolved many at once, up to a second's worth and more, and a batch
// processor that comes next drops what its queue has no room for: 2,048 by default.
// So they are handed on in portions, over half a second.
const (
	portions     = 32 // of MaxHeld spans each is half of that queue
	leastPortion = 64
	portionEvery = 16 * time.Millisecond
	flushEvery   = MaxHeld / portions // spans

	// emptyWithin is how long next may take to empty its queue while other spans may
	// end: as long as an OTLP exporter takes by default until it gives an export up. A
	// batch processor loses the batch whose export is ended sooner; a dead Collector
	// shall not hold up other spans for as long as who waits would.
	emptyWithin = 10 * time.Second
)

// nextProcessor names next to who is told of its panics.
const nextProcessor = "the span processor after package otelgc/spans"

// handOn hands on what is decorated by now.
func (p *processor) handOn() {
	p.mu.Lock()
	batch := p.ready
	p.ready, p.spare = p.spare[:0], nil
	p.mu.Unlock()
	portion := max(len(batch)/portions, leastPortion)
	for i, d := range batch {
		switch ctx := p.flush.Load(); {
		case ctx != nil:
			p.empty(ctx)
		case i%portion == 0:
			if i > 0 {
				p.rest()
			}
			p.emptied = p.passed.Load()
		}
		batch[i] = nil
		p.pass(d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = batch[:0]
}

// rest gives next the time to have its queue emptied.
func rest() { time.Sleep(portionEvery) }

// empty tells next, for who waits with ctx, to empty its queue, which half of it may
// be full by now. That takes as long as an export does: where it fails, or takes too
// long, the spans after it are handed on as if nobody waited. From Shutdown on there are
// no others that it could hold up, and it has all the time of who waits.
func (p *processor) empty(ctx *context.Context) {
	passed := p.passed.Load()
	if passed-p.emptied < flushEvery {
		return
	}
	p.emptied = passed
	defer func() {
		if v := recover(); v != nil { // as in pass
			p.m.CountPanic("span_flush", nextProcessor, v)
		}
	}()
	within := *ctx
	if !p.closed.Load() {
		limited, cancel := context.WithTimeout(within, p.emptyWithin)
		defer cancel()
		within = limited
	}
	if err := p.next.ForceFlush(within); err != nil {
		p.flush.CompareAndSwap(ctx, nil) // who waits calls it once more, and tells of its error
		p.rest()
	}
}

// pass hands a span on. A panic of next is its own, but not the program's end:
// nobody stands above this goroutine who could stop it.
func (p *processor) pass(d *decorated) {
	defer func() {
		if v := recover(); v != nil {
			p.m.CountPanic("span", nextProcessor, v)
		}
		p.passed.Add(1)
	}()
	p.next.OnEnd(d)
}
