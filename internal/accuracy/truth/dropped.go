package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
)

// dropped reads what the monitor says that it lost.
type dropped struct {
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
}

func newDropped() dropped {
	r := sdkmetric.NewManualReader()
	return dropped{r, sdkmetric.NewMeterProvider(sdkmetric.WithReader(r))}
}

// harmless are items without which no request is seen less well.
var harmless = []string{"event", "suspension", "cross_check", "slow_request", "tap_generation"}

// read returns what requests may be seen less well without, such as
// "generation decoder_behind 2".
func (d *dropped) read(ctx context.Context) (string, error) {
	var all metricdata.ResourceMetrics
	if err := d.reader.Collect(ctx, &all); err != nil {
		return "", fmt.Errorf("read metrics: %w", err)
	}
	var lost []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			s, ok := m.Data.(metricdata.Sum[int64])
			if m.Name != semconv.MetricDropped || !ok {
				continue
			}
			for _, p := range s.DataPoints {
				if item := value(p.Attributes, semconv.AttrItem); p.Value > 0 && !slices.Contains(harmless, item) {
					lost = append(lost, fmt.Sprintf("%s %s %d", item, value(p.Attributes, semconv.AttrErrorType), p.Value))
				}
			}
		}
	}
	return strings.Join(lost, ", "), nil
}

func value(s attribute.Set, key string) string {
	v, _ := s.Value(attribute.Key(key))
	return v.AsString()
}
