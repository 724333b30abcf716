package otelgc

import (
	"context"
	"strings"
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

// by returns the sums of a metric by the values of keys, with spaces in between.
func (s *sums) by(t *testing.T, metric string, keys ...string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	add := func(set attribute.Set, v float64) {
		values := make([]string, len(keys))
		for i, key := range keys {
			value, _ := set.Value(attribute.Key(key))
			values[i] = value.AsString()
		}
		got[strings.Join(values, " ")] += v
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
	for _, v := range s.by(t, metric) {
		total += v
	}
	return total
}
