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
		return otlpmetrichttp.New(ctx, where(metrics, otlpmetrichttp.WithInsecure)...)
	}
	return otlpmetricgrpc.New(ctx, where(metrics, otlpmetricgrpc.WithInsecure)...)
}

func logExporter(ctx context.Context, p protocol) (sdklog.Exporter, error) {
	if p == http {
		return otlploghttp.New(ctx, where(logs, otlploghttp.WithInsecure)...)
	}
	return otlploggrpc.New(ctx, append(where(logs, otlploggrpc.WithInsecure), logTarget()...)...)
}

// logTarget says to the exporter of logs what it does not read itself.
func logTarget() []otlploggrpc.Option {
	to, insecure, ok := target(logs)
	switch {
	case !ok:
		return nil
	case insecure:
		return []otlploggrpc.Option{otlploggrpc.WithEndpoint(to), otlploggrpc.WithInsecure()}
	}
	// The first is there for its scheme, which has it take TLS.
	return []otlploggrpc.Option{otlploggrpc.WithEndpointURL("https://localhost"), otlploggrpc.WithEndpoint(to)}
}

func spanExporter(ctx context.Context, p protocol) (sdktrace.SpanExporter, error) {
	if p == http {
		return otlptracehttp.New(ctx, where(traces, otlptracehttp.WithInsecure)...)
	}
	return otlptracegrpc.New(ctx, where(traces, otlptracegrpc.WithInsecure)...)
}

// where has the option that turns TLS off where s has none, else nothing: the SDK
// reads the environment.
func where[O any](s signal, insecure func() O) []O {
	if !plain(s) {
		return nil
	}
	return []O{insecure()}
}
