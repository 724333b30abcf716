package spans

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
)

// TestBlockedNext: a next processor that hangs holds a bounded number of spans;
// the others go past it.
func TestBlockedNext(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(0))
	out := counter{block: make(chan struct{})}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
	tracer := tp.Tracer("test")
	const over = 100
	for range maxHeld + over {
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
	if got := out.all.Load(); got != maxHeld+over {
		t.Errorf("%d spans came out, want %d", got, maxHeld+over)
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
	if err := entry.Of(m).ResolveNow(ctx); err != nil {
		t.Errorf("the monitor after that: %v", err)
	}
	close(out.block)
	waitUntil(t, func() bool { return out.all.Load() == n+1 })
}
