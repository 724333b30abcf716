//go:build metrics

package main

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

func init() { watchers["metrics"] = metered(measured) }

// measured has the runtime's metrics, as the OpenTelemetry project's package has them.
func measured(_ context.Context, meters *sdkmetric.MeterProvider) (around, error) {
	return around{stop: nothing}, runtime.Start(runtime.WithMeterProvider(meters), runtime.WithMinimumReadMemStatsInterval(readEvery))
}
