//go:build otelgc

package main

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/otelgc"
)

func init() { watchers["otelgc"] = metered(monitored) }

// watchGRPC has the monitor watch gRPC calls, where gRPC is linked.
var watchGRPC = func(*otelgc.Monitor) {}

// monitored has otelgc, with metrics and events. Its budget is that of $OTELGC_EXACT_BUDGET.
func monitored(ctx context.Context, meters *sdkmetric.MeterProvider) (a around, err error) {
	e, err := otlploghttp.New(ctx)
	if err != nil {
		return a, err
	}
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(e)))
	m, err := otelgc.Start(otelgc.WithMeterProvider(meters), otelgc.WithLoggerProvider(loggers), otelgc.WithBoard(""))
	if err != nil {
		return a, err
	}
	a.http = func(h http.Handler) http.Handler { return m.Middleware(h) }
	watchGRPC(m)
	a.stop = func(ctx context.Context) error {
		return errors.Join(m.Shutdown(ctx), loggers.Shutdown(ctx))
	}
	return a, nil
}
