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
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/spans"
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
// another one is an error for OpenTelemetry's handler and left out: set it after Start.
// Options given here override the providers.
//
// Errors of the SDK, which come several times a second while a Collector is dead, are
// logged by [slog.Default]: one line for each kind of trouble, with what to do about it.
// A program that has set a handler of errors of its own (otel.SetErrorHandler) gets
// them all, as they come.
//
// Shutdown stops the monitor, exports what is held and ends the providers. It
// takes at most five seconds, whatever the Collector does, and its error says what
// could not be exported. If anything never reached a Collector, from the start to the
// end, one line says how much. It may be called more than once.
//
// If Start fails, nothing is set and nothing runs.
func Start(ctx context.Context, opts ...otelgc.Option) (m *otelgc.Monitor, shutdown func(context.Context) error, err error) {
	// Spans come to their export all at once, a second's worth, when the sources have
	// seen that second.
	p, err := otelenv.Start(ctx, otelenv.Options{Traces: true, SpanQueue: entry.MaxSpans})
	if err != nil {
		return nil, nil, fmt.Errorf("otelgc/otlp: start: %w", err)
	}
	own := []otelgc.Option{otelgc.WithMeterProvider(p.Meter), otelgc.WithLoggerProvider(p.Logger)}
	m, err = otelgc.Start(append(own, opts...)...)
	if err != nil {
		p.Discard()
		return nil, nil, fmt.Errorf("otelgc/otlp: %w", err)
	}
	if p.Spans != nil {
		p.Tracer.RegisterSpanProcessor(spans.NewProcessor(m, p.Spans))
	}
	s := &service{monitor: m, providers: p, errors: otelenv.NewErrorHandler(slog.Default()).Install()}
	otel.SetMeterProvider(p.Meter)
	otel.SetLoggerProvider(p.Logger)
	otel.SetTracerProvider(p.Tracer)
	propagator, err := propagators()
	if err != nil {
		otel.Handle(fmt.Errorf("otelgc/otlp: %w", err))
	}
	otel.SetTextMapPropagator(propagator)
	return m, s.shutdown, nil
}

// service is what Start has started.
type service struct {
	monitor   *otelgc.Monitor
	providers *otelenv.Providers
	errors    *otelenv.ErrorHandler // nil where the program handles errors itself
	once      sync.Once
}

// shutdown stops the monitor first, in half of the time: what it sends last must still
// be exported.
func (s *service) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, otelenv.ShutdownTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	early, done := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer done()
	monitorErr := s.monitor.Shutdown(early)
	if monitorErr != nil {
		monitorErr = fmt.Errorf("stop monitor: %w", monitorErr)
	}
	if s.errors != nil { // the error below says what they would
		s.errors.Mute(true)
		defer s.errors.Mute(false)
	}
	providersErr := s.providers.Shutdown(ctx)
	s.once.Do(func() {
		if lost := s.providers.Unexported(providersErr); lost != nil {
			s.report(ctx, lost)
		}
	})
	if err := otelenv.Join(monitorErr, providersErr); err != nil {
		return fmt.Errorf("otelgc/otlp: shutdown: %w", err)
	}
	return nil
}

// report reports what never reached a Collector, until ctx ends: the program's logger
// and its handler of errors may block, and panic.
func (s *service) report(ctx context.Context, lost *otelenv.Unexported) {
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		defer func() { _ = recover() }() // there is nobody else to report it to
		const what = "not all telemetry was exported"
		if s.errors != nil {
			slog.Warn(what, lost.Facts()...)
		} else {
			otel.Handle(errors.New("otelgc/otlp: " + what + ": " + lost.String()))
		}
	}()
	select {
	case <-reported:
	case <-ctx.Done():
	}
}

// propagatorsEnv names the propagators, by the specification of OpenTelemetry
// (Environment Variable Specification, General SDK Configuration).
const propagatorsEnv = "OTEL_PROPAGATORS"

var errPropagators = errors.New("neither tracecontext, baggage nor none: set it by otel.SetTextMapPropagator after Start")

// propagators returns those that the environment names, tracecontext and baggage if it
// names none that is known. The error says which are not known: by the specification
// such a value is ignored, with a warning.
func propagators() (propagation.TextMapPropagator, error) {
	unlisted := map[string]propagation.TextMapPropagator{"tracecontext": propagation.TraceContext{}, "baggage": propagation.Baggage{}}
	var list []propagation.TextMapPropagator
	var unknown []string
	for name := range strings.SplitSeq(os.Getenv(propagatorsEnv), ",") {
		name = strings.TrimSpace(name)
		switch p, known := unlisted[name]; {
		case name == "none":
			return propagation.NewCompositeTextMapPropagator(), nil
		case p != nil:
			list, unlisted[name] = append(list, p), nil
		case !known && name != "":
			unknown = append(unknown, name)
		}
	}
	if len(list) == 0 {
		list = append(list, propagation.TraceContext{}, propagation.Baggage{})
	}
	var err error
	if len(unknown) > 0 {
		err = fmt.Errorf("read %s: %q: %w", propagatorsEnv, unknown, errPropagators)
	}
	return propagation.NewCompositeTextMapPropagator(list...), err
}

// Detector returns a detector for providers that the service makes itself. It
// gives otelgc.boot.id, host.id, host.name, process.pid, process.creation.time,
// process.runtime.name and process.runtime.version; what the system does not
// tell is left out.
func Detector() resource.Detector { return otelenv.Detector() }
