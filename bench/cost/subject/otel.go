//go:build otel

package main

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func init() { watchers["otel"] = metered(instrumented) }

// instrumented has OpenTelemetry's instrumentation of the shape, with spans and metrics.
func instrumented(ctx context.Context, meters *sdkmetric.MeterProvider) (a around, err error) {
	e, err := otlptracehttp.New(ctx)
	if err != nil {
		return a, err
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	a.instrument(spans, meters)
	a.stop = spans.Shutdown
	return a, nil
}
