// Package otlp is the one call for a service that has no OpenTelemetry yet: it
// makes providers with OTLP exporters and a resource from the OTEL_* variables
// of the environment, makes them the global ones, and starts otelgc with them.
//
// A service that makes its own providers needs [Detector] only: without
// otelgc.boot.id among the resource's attributes its spans cannot be laid on
// the clock of the machine.
package otlp

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/otelgc"
)

// Start makes providers of meters, loggers and tracers from the environment,
// sets them and the propagators as the global ones, and starts otelgc with them.
// It does not wait for a connection. Every sampled span carries the time that
// stalls cost it, see package otelgc/spans: it is exported up to a few seconds
// after its end.
//
// The SDK's own variables hold: OTEL_EXPORTER_OTLP_ENDPOINT and its like,
// OTEL_METRIC_EXPORT_INTERVAL, OTEL_BLRP_*, OTEL_BSP_*, OTEL_TRACES_SAMPLER,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES; but OTEL_BSP_MAX_QUEUE_SIZE is
// 32768 unless it is set, as spans come in bursts. The protocol is grpc unless
// OTEL_EXPORTER_OTLP_PROTOCOL, or its variant for a signal, says http/protobuf.
// OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER and OTEL_TRACES_EXPORTER may be
// none, and OTEL_SDK_DISABLED may be true: then otelgc works in process only.
// OTEL_PROPAGATORS lists tracecontext and baggage (both is the default), or is none;
// another one is told to the handler of errors and left out: set it after Start.
// Options given here override the providers.
//
// Errors of the SDK, which come several times a second while a Collector is dead, are
// logged by [slog.Default]: one line for each kind of trouble, with what to do about it.
// A program that has set a handler of errors of its own (otel.SetErrorHandler) gets
// them all, as they come.
//
// Shutdown stops the monitor, exports what is held and ends the providers. It
// takes at most five seconds, whatever the Collector does, and its error says
// what could not be exported. One line says how much never reached a Collector, from
// the start to the end, if anything did not. It may be called more than once.
//
// If Start fails, nothing is set and nothing runs.
func Start(ctx context.Context, opts ...otelgc.Option) (m *otelgc.Monitor, shutdown func(context.Context) error, err error) {
	var d decorator
	p, err := otelenv.Start(ctx, otelenv.Options{Traces: true, Spans: d.before, SpanQueue: spanQueue})
	if err != nil {
		return nil, nil, fmt.Errorf("otelgc/otlp: start: %w", err)
	}
	own := []otelgc.Option{otelgc.WithMeterProvider(p.Meter), otelgc.WithLoggerProvider(p.Logger)}
	m, err = otelgc.Start(append(own, opts...)...)
	if err != nil {
		p.Discard()
		return nil, nil, fmt.Errorf("otelgc/otlp: %w", err)
	}
	d.start(m)
	e := ending{monitor: m, providers: p, complaints: otelenv.NewComplaints(slog.Default()).HandleErrors()}
	otel.SetMeterProvider(p.Meter)
	otel.SetLoggerProvider(p.Logger)
	otel.SetTracerProvider(p.Tracer)
	propagator, err := propagators()
	if err != nil {
		otel.Handle(fmt.Errorf("otelgc/otlp: %w", err))
	}
	otel.SetTextMapPropagator(propagator)
	return m, e.end, nil
}

// Detector returns a detector for providers that the service makes itself. It
// gives otelgc.boot.id, host.id, host.name, process.pid, process.creation.time,
// process.runtime.name and process.runtime.version; what the system does not
// tell is left out.
func Detector() resource.Detector { return otelenv.Detector() }
