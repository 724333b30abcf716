//go:build otel || metrics || otelgc

package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// readEvery is the interval of the metrics reader, a sixth of the SDK's default: a window
// of half a minute holds some reads.
const readEvery = 10 * time.Second

// metered gives what watches the SDK's metrics, with the exporter that
// $OTEL_EXPORTER_OTLP_ENDPOINT has.
func metered(watch func(context.Context, *sdkmetric.MeterProvider) (around, error)) func(context.Context) (around, error) {
	return func(ctx context.Context) (a around, err error) {
		e, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return a, err
		}
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, sdkmetric.WithInterval(readEvery))))
		if a, err = watch(ctx, meters); err != nil {
			return a, err
		}
		stop := a.stop
		a.stop = func(ctx context.Context) error { return errors.Join(stop(ctx), meters.Shutdown(ctx)) }
		return a, nil
	}
}
