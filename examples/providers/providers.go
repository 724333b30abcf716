package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelgc/otelgc/otelgc/otlp"
)

// providers are what a service with OpenTelemetry has anyway.
type providers struct {
	meters  *sdkmetric.MeterProvider
	loggers *sdklog.LoggerProvider
}

// newProviders sends metrics and logs over OTLP/gRPC to where the OTEL_*
// environment says.
func newProviders(ctx context.Context, service string) (*providers, error) {
	res, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service)),
		resource.WithFromEnv(),
		resource.WithHost(),
		// The one line for otelgc: the identity of this boot and this process,
		// by which a sidecar's gaps find the service they belong to.
		resource.WithDetectors(otlp.Detector()),
	)
	if err != nil {
		return nil, err
	}
	metrics, err := otlpmetricgrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	logs, err := otlploggrpc.New(ctx)
	if err != nil {
		return nil, errors.Join(err, metrics.Shutdown(ctx))
	}
	return &providers{
		meters: sdkmetric.NewMeterProvider(
			sdkmetric.WithResource(res),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)),
		),
		loggers: sdklog.NewLoggerProvider(
			sdklog.WithResource(res),
			sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)),
		),
	}, nil
}

// shutdown sends what is still held and closes the connections.
func (p *providers) shutdown(ctx context.Context) error {
	return errors.Join(p.meters.Shutdown(ctx), p.loggers.Shutdown(ctx))
}
