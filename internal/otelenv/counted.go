package otelenv

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type countedMetrics struct {
	sdkmetric.Exporter
	gate *gate
}

func (c countedMetrics) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return c.gate.export(ctx, 1, func(ctx context.Context) error { return c.Exporter.Export(ctx, m) })
}

type countedLogs struct {
	sdklog.Exporter
	gate *gate
}

func (c countedLogs) Export(ctx context.Context, records []sdklog.Record) error {
	return c.gate.export(ctx, len(records), func(ctx context.Context) error { return c.Exporter.Export(ctx, records) })
}

// countedEmits is the other end of the queue.
type countedEmits struct {
	sdklog.Processor
	tally *tally
}

func (c countedEmits) OnEmit(ctx context.Context, r *sdklog.Record) error {
	c.tally.in.Add(1)
	return c.Processor.OnEmit(ctx, r)
}

type countedSpans struct {
	sdktrace.SpanExporter
	gate *gate
}

func (c countedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return c.gate.export(ctx, len(spans), func(ctx context.Context) error { return c.SpanExporter.ExportSpans(ctx, spans) })
}

// countedEnds is the other end of the queue.
type countedEnds struct {
	sdktrace.SpanProcessor
	tally *tally
}

func (c countedEnds) OnEnd(s sdktrace.ReadOnlySpan) {
	// The batch processor takes no others.
	if s.SpanContext().IsSampled() {
		c.tally.in.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}
