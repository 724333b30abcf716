package otelenv

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func metricExporter(ctx context.Context, p protocol) (sdkmetric.Exporter, error) {
	if p == http {
		return otlpmetrichttp.New(ctx)
	}
	return otlpmetricgrpc.New(ctx)
}

func logExporter(ctx context.Context, p protocol) (sdklog.Exporter, error) {
	if p == http {
		return otlploghttp.New(ctx)
	}
	return otlploggrpc.New(ctx)
}

func spanExporter(ctx context.Context, p protocol) (sdktrace.SpanExporter, error) {
	if p == http {
		return otlptracehttp.New(ctx)
	}
	return otlptracegrpc.New(ctx)
}
