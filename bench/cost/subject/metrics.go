//go:build metrics

package main

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
)

func init() { watchers["metrics"] = measured }

// measured has the runtime's metrics, as the OpenTelemetry project's package has them.
func measured(ctx context.Context) (a around, err error) {
	meters, err := newMeters(ctx)
	if err != nil {
		return a, err
	}
	a.stop = meters.Shutdown
	return a, runtime.Start(runtime.WithMeterProvider(meters), runtime.WithMinimumReadMemStatsInterval(readEvery))
}
