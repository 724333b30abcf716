package spans

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
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

func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not done in minutes")
		}
	}
}

// counter counts spans, decorated and not.
type counter struct {
	all, plain atomic.Int64
	block      chan struct{}
}

func (*counter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (*counter) ForceFlush(context.Context) error { return nil }

func (*counter) Shutdown(context.Context) error { return nil }

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

// atOnce is a monitor that resolves each window at once, and follows none.
type atOnce struct {
	released []entry.Mark
	dropped  int
}

func (*atOnce) Instant(t time.Time) stall.Instant { return stall.Instant(t.UnixNano()) }

func (*atOnce) Mark(stall.Instant) (none entry.Mark) { return none }

func (m *atOnce) Release(k entry.Mark) {
	if k.OK {
		m.released = append(m.released, k)
	}
}

func (*atOnce) Resolve(_ entry.Mark, w stall.Window, tell func(*stall.Window, *stall.Share)) bool {
	tell(&w, &stall.Share{Total: w.End.Sub(w.Start)})
	return true
}

func (*atOnce) ResolveNow(context.Context) error { return nil }

func (m *atOnce) CountDropped(string, string, uint64) { m.dropped++ }

func (*atOnce) CountPanic(string, string, any) {}

// end has n spans end in p.
func end(p *processor, n int) {
	s := tracetest.SpanStub{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	})}.Snapshot()
	for range n {
		p.OnEnd(s)
	}
}

// waitFollowed waits until goroutines are followed.
func waitFollowed(t testing.TB, m *otelgc.Monitor) (k entry.Mark) {
	t.Helper()
	waitUntil(t, func() bool { k = entry.Of(m).Mark(0); return k.OK })
	return k
}
