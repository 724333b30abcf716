//go:build otel && grpc

package main

import (
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

func (*around) instrument(spans trace.TracerProvider, meters metric.MeterProvider) {
	watchersGRPC = append(watchersGRPC, otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(spans), otelgrpc.WithMeterProvider(meters)))
}
