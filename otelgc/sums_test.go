package otelgc

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sums reads a metric of a test, summed by the value of one attribute.
type sums struct{ reader *sdkmetric.ManualReader }

func newSums() (*sums, Option) {
	s := &sums{sdkmetric.NewManualReader()}
	return s, WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader)))
}

func (s *sums) by(t *testing.T, metric, key string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	add := func(set attribute.Set, v float64) {
		value, _ := set.Value(attribute.Key(key))
		got[value.AsString()] += v
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != metric {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			}
		}
	}
	return got
}

func (s *sums) total(t *testing.T, metric string) (total float64) {
	t.Helper()
	for _, v := range s.by(t, metric, "") {
		total += v
	}
	return total
}
