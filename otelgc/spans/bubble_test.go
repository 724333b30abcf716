package spans

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
)

// TestInABubble: a test of the program's in a bubble of testing/synctest makes spans
// with a monitor that is outside, and a processor that is, or is not. None is lost, and
// the runtime ends nobody for touching a channel of the bubble from outside.
func TestInABubble(t *testing.T) {
	m := start(t, otelgc.WithExactBudget(1))
	var out asking
	outside := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
	const spans = 3 * flushEvery // so that next is emptied while somebody waits
	some := func(tp *sdktrace.TracerProvider) {
		for range spans {
			_, s := tp.Tracer("test").Start(context.Background(), "span")
			s.End()
		}
	}
	some(outside) // that are held when the bubble begins
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		inside := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
		for _, tp := range []*sdktrace.TracerProvider{outside, inside} {
			some(tp)
			if err := tp.ForceFlush(ctx); err != nil {
				t.Errorf("ForceFlush: %v", err)
			}
		}
		if err := inside.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	_, held := outside.Tracer("test").Start(context.Background(), "span")
	held.End()
	if err := outside.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := out.all.Load(); got != 3*spans+1 {
		t.Errorf("%d spans came out, want %d", got, 3*spans+1)
	}
}

// asking asks how the context of a flush is.
type asking struct{ counter }

func (*asking) ForceFlush(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}
