package main

import (
	"context"
	"errors"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/collector/stallconnector"
)

// subject is a connector with the instances that a Collector would make of it.
type subject struct {
	traces []consumer.Traces
	events consumer.Logs // nil if it takes none
	all    []component.Component
}

// sink is what stands behind the connector stall.
type sink struct {
	consumertest.Consumer // takes and forgets
	traces                func(ptrace.Traces)
	logs                  func(plog.Logs) // nil forgets
}

func (s sink) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	s.traces(td)
	return nil
}

func (s sink) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	if s.logs != nil {
		s.logs(ld)
	}
	return nil
}

func settings(t component.Type, m metric.MeterProvider) connector.Settings {
	set := connectortest.NewNopSettings(t)
	set.ID, set.MeterProvider = component.NewID(t), m
	return set
}

// newStall starts the connector stall as it is in collector/config.yaml, between
// all pairs of signals.
func newStall(ctx context.Context, m metric.MeterProvider, configure func(*stallconnector.Config), out sink) (*subject, error) {
	f := stallconnector.NewFactory()
	config := f.CreateDefaultConfig().(*stallconnector.Config)
	configure(config)
	set := settings(f.Type(), m)
	events, err1 := f.CreateLogsToTraces(ctx, set, config, consumertest.NewNop())
	traces, err2 := f.CreateTracesToTraces(ctx, set, config, out)
	metrics, err3 := f.CreateTracesToMetrics(ctx, set, config, consumertest.NewNop())
	slow, err4 := f.CreateTracesToLogs(ctx, set, config, out)
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
	c, err := f.CreateTracesToMetrics(ctx, settings(f.Type(), m), f.CreateDefaultConfig(), consumertest.NewNop())
	if err != nil {
		return nil, err
	}
	s := &subject{traces: []consumer.Traces{c}, all: []component.Component{c}}
	return s, s.start(ctx)
}

func (s *subject) start(ctx context.Context) error {
	for _, c := range s.all {
		if err := c.Start(ctx, componenttest.NewNopHost()); err != nil {
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
