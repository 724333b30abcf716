package spans

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
)

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
