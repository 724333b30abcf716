//go:build otel && otelgc

package main

import (
	"context"
	"errors"
	"net/http"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

func init() { watchers["both"] = metered(both) }

// both has OpenTelemetry's instrumentation, and otelgc inside of it, where it knows the
// span of each request.
func both(ctx context.Context, meters *sdkmetric.MeterProvider) (a around, err error) {
	outer, err := instrumented(ctx, meters)
	if err != nil {
		return a, err
	}
	inner, err := monitored(ctx, meters)
	if err != nil {
		return a, errors.Join(err, outer.stop(ctx))
	}
	if outer.http != nil {
		a.http = func(h http.Handler) http.Handler { return outer.http(inner.http(h)) }
	}
	a.stop = func(ctx context.Context) error { return errors.Join(inner.stop(ctx), outer.stop(ctx)) }
	return a, nil
}
