package main

import (
	"context"
	"errors"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	"github.com/otelgc/otelgc/collector/stallconnector"
)

// subject is a connector with the instances that a Collector would make of it.
type subject struct {
	traces []consumer.Traces
	events consumer.Logs // nil if it takes none
	all    []component.Component
}

// sinks is what stands behind a connector. Nil takes and forgets.
type sinks struct {
	traces func(ptrace.Traces)
	logs   func(plog.Logs)
}

func settings(t component.Type, m metric.MeterProvider) connector.Settings {
	return connector.Settings{
		ID: component.NewID(t),
		TelemetrySettings: component.TelemetrySettings{
			Logger: zap.NewNop(), TracerProvider: noop.NewTracerProvider(), MeterProvider: m, Resource: pcommon.NewResource(),
		},
		BuildInfo: component.NewDefaultBuildInfo(),
	}
}

// newStall starts the connector stall as it is in collector/config.yaml, between
// all pairs of signals.
func newStall(ctx context.Context, m metric.MeterProvider, configure func(*stallconnector.Config), out sinks) (*subject, error) {
	f := stallconnector.NewFactory()
	config := f.CreateDefaultConfig().(*stallconnector.Config)
	configure(config)
	set := settings(f.Type(), m)
	events, err1 := f.CreateLogsToTraces(ctx, set, config, takeTraces(nil))
	traces, err2 := f.CreateTracesToTraces(ctx, set, config, takeTraces(out.traces))
	metrics, err3 := f.CreateTracesToMetrics(ctx, set, config, takeMetrics())
	slow, err4 := f.CreateTracesToLogs(ctx, set, config, takeLogs(out.logs))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	// The instances that hold nothing take spans too: they cost next to nothing.
	s := &subject{traces: []consumer.Traces{traces}, events: events, all: []component.Component{events, traces, metrics, slow}}
	return s, s.start(ctx)
}

// newSpanMetrics starts the span metrics connector with its defaults.
func newSpanMetrics(ctx context.Context, m metric.MeterProvider) (*subject, error) {
	f := spanmetricsconnector.NewFactory()
	c, err := f.CreateTracesToMetrics(ctx, settings(f.Type(), m), f.CreateDefaultConfig(), takeMetrics())
	if err != nil {
		return nil, err
	}
	s := &subject{traces: []consumer.Traces{c}, all: []component.Component{c}}
	return s, s.start(ctx)
}

func (s *subject) start(ctx context.Context) error {
	for _, c := range s.all {
		if err := c.Start(ctx, noHost{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) stop(ctx context.Context) (err error) {
	for _, c := range s.all {
		err = errors.Join(err, c.Shutdown(ctx))
	}
	return err
}

type noHost struct{}

func (noHost) GetExtensions() map[component.ID]component.Component { return nil }

func takeTraces(f func(ptrace.Traces)) consumer.Traces {
	c, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
		if f != nil {
			f(td)
		}
		return nil
	})
	return must(c, err)
}

func takeLogs(f func(plog.Logs)) consumer.Logs {
	c, err := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error {
		if f != nil {
			f(ld)
		}
		return nil
	})
	return must(c, err)
}

func takeMetrics() consumer.Metrics {
	return must(consumer.NewMetrics(func(context.Context, pmetric.Metrics) error { return nil }))
}

// must returns v: err says that a function is nil, and none is.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
