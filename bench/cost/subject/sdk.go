//go:build otel || metrics || otelgc

package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// readEvery is the interval of the metrics reader, a sixth of the SDK's default: a window
// of half a minute holds some reads.
const readEvery = 10 * time.Second

// newMeters returns the SDK's metrics, with the exporter that $OTEL_EXPORTER_OTLP_ENDPOINT
// has.
func newMeters(ctx context.Context) (*sdkmetric.MeterProvider, error) {
	e, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, sdkmetric.WithInterval(readEvery)))), nil
}
