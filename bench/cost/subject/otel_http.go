//go:build otel && !grpc

package main

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

func (a *around) instrument(spans trace.TracerProvider, meters metric.MeterProvider) {
	a.http = func(h http.Handler) http.Handler {
		return otelhttp.NewHandler(h, "POST /", otelhttp.WithTracerProvider(spans), otelhttp.WithMeterProvider(meters))
	}
}
