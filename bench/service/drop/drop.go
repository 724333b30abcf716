// Package drop has exporters that drop everything.
package drop

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// drop is what exporters share that drop everything.
type drop struct{}

func (drop) ForceFlush(context.Context) error { return nil }
func (drop) Shutdown(context.Context) error   { return nil }

// Spans is an exporter that drops everything.
type Spans struct{ drop }

// ExportSpans drops spans.
func (Spans) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

// Metrics is an exporter that drops everything.
type Metrics struct{ drop }

// Export drops metrics.
func (Metrics) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }

// Temporality returns that of the SDK.
func (Metrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

// Aggregation returns that of the SDK.
func (Metrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
