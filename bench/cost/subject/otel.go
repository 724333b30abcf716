//go:build otel

package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func init() { watchers["otel"] = instrumented }

// instrumented has OpenTelemetry's instrumentation of the shape, with spans and metrics.
func instrumented(ctx context.Context) (a around, err error) {
	e, err := otlptracehttp.New(ctx)
	if err != nil {
		return a, err
	}
	meters, err := newMeters(ctx)
	if err != nil {
		return a, err
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	a.instrument(spans, meters)
	a.stop = func(ctx context.Context) error { return errors.Join(spans.Shutdown(ctx), meters.Shutdown(ctx)) }
	return a, nil
}
