package spans

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/semconv"
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

func waitUntil(t *testing.T, done func() bool) {
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

// dropped returns how many of an item are counted as dropped.
func dropped(t *testing.T, reader sdkmetric.Reader, item, why string) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	want := attribute.NewSet(attribute.String(semconv.AttrItem, item), attribute.String(semconv.AttrErrorType, why))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == semconv.MetricDropped {
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
