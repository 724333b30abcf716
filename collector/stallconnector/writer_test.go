package stallconnector

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadatatest"
)

// TestSingleWriter: two connectors of one Collector that count spans of the same
// service, and one of another Collector, write into series of their own.
func TestSingleWriter(t *testing.T) {
	ctx, config := context.Background(), createDefaultConfig()
	one := NewFactory() // of one Collector
	writers := map[string]string{}
	for _, c := range []struct {
		collector, name, want string
	}{
		{"9a1b", "", "9a1b"}, {"9a1b", "orders", "9a1b/orders"}, {"9a1b", "mail", "9a1b/mail"}, {"77c0", "orders", "77c0/orders"}, {"", "orders", "/orders"},
	} {
		s, f := settings(), one
		s.ID = component.NewIDWithName(metadata.Type, c.name)
		s.Resource.Attributes().PutStr("service.instance.id", c.collector)
		if c.collector != "9a1b" {
			f = NewFactory()
		}
		if c.collector == "" {
			s.Resource.Attributes().Remove("service.instance.id")
		}
		sink := new(consumertest.MetricsSink)
		instance, err := f.CreateTracesToMetrics(ctx, s, config, sink)
		if err != nil {
			t.Fatal(err)
		}
		stop := lifecycle(t, instance)
		if err := instance.ConsumeTraces(ctx, request()); err != nil {
			t.Fatal(err)
		}
		stop()
		if len(sink.AllMetrics()) != 1 {
			t.Fatalf("%s of %s: %d exports, want one at the end", c.name, c.collector, len(sink.AllMetrics()))
		}
		resource := sink.AllMetrics()[0].ResourceMetrics().At(0).Resource().Attributes().AsRaw()
		got, _ := resource["collector.instance.id"].(string)
		if got != c.want {
			t.Errorf("%q of %q: collector.instance.id is %q, want %q", c.name, c.collector, got, c.want)
		}
		if other, taken := writers[got]; taken {
			t.Errorf("%q of %q writes the series of %s", c.name, c.collector, other)
		}
		writers[got] = c.name + " of " + c.collector
	}
}

// TestOwnMetrics: what two connectors of one Collector say of themselves are series
// of their own, too.
func TestOwnMetrics(t *testing.T) {
	ctx, tel, f := context.Background(), componenttest.NewTelemetry(), NewFactory()
	var all []component.Component
	for _, name := range []string{"", "two"} {
		s := metadatatest.NewSettings(tel)
		s.ID = component.NewIDWithName(metadata.Type, name)
		c, err := f.CreateTracesToTraces(ctx, s, createDefaultConfig(), consumertest.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.ConsumeTraces(ctx, request()); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	stop := lifecycle(t, all...)
	point := func(id string) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String(componentID, id)), Value: 1}
	}
	metadatatest.AssertEqualConnectorStallHeldSpans(t, tel,
		[]metricdata.DataPoint[int64]{point("stall"), point("stall/two")}, metricdatatest.IgnoreTimestamp())
	stop()
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
