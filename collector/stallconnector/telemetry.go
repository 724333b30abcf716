package stallconnector

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/collector/attribution"
)

// The metrics of the connector itself. They are listed in metadata.yaml.
const (
	metricHeld    = "otelcol_connector_stall_held_spans"
	metricSpans   = "otelcol_connector_stall_spans_unattributed"
	metricEvents  = "otelcol_connector_stall_events_dropped"
	metricForgot  = "otelcol_connector_stall_forgotten"
	metricRefused = "otelcol_connector_stall_refused"
)

// telemetry is what the connector says of itself.
type telemetry struct {
	registration metric.Registration
	refusals     metric.Int64Counter
}

func observe(s component.TelemetrySettings, a *attribution.Attributor) (*telemetry, error) {
	m := s.MeterProvider.Meter("github.com/otelgc/otelgc/collector/stallconnector")
	held, err1 := m.Int64ObservableGauge(metricHeld, metric.WithUnit("{span}"), metric.WithDescription("Spans that wait for the sources of their host."))
	spans, err2 := m.Int64ObservableCounter(metricSpans, metric.WithUnit("{span}"), metric.WithDescription("Spans that went on without, or with less than all that could be said, by why."))
	events, err3 := m.Int64ObservableCounter(metricEvents, metric.WithUnit("{event}"), metric.WithDescription("Events that were not taken, by why; those that were there already among them."))
	forgot, err4 := m.Int64ObservableCounter(metricForgot, metric.WithUnit("{item}"), metric.WithDescription("Hosts and processes that were forgotten for want of room."))
	refused, err5 := m.Int64Counter(metricRefused, metric.WithUnit("{batch}"), metric.WithDescription("Batches that the next component refused."))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	why := func(key, value string) metric.ObserveOption {
		return metric.WithAttributes(attribute.String(key, value))
	}
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		n, _ := a.Held()
		o.ObserveInt64(held, int64(n))
		l := a.Lost()
		o.ObserveInt64(spans, int64(l.SpansOverLimit), why("error.type", "limit"))
		o.ObserveInt64(spans, int64(l.SpansTimedOut), why("error.type", "timeout"))
		o.ObserveInt64(spans, int64(l.SpansUnknown), why("error.type", "unknown"))
		o.ObserveInt64(events, int64(l.Duplicates), why("error.type", "duplicate"))
		for reason, n := range l.Events {
			o.ObserveInt64(events, int64(n), why("error.type", reason))
		}
		o.ObserveInt64(forgot, int64(l.HostsForgotten), why("otelgc.item", "host"))
		o.ObserveInt64(forgot, int64(l.ProcessesForgotten), why("otelgc.item", "process"))
		return nil
	}, held, spans, events, forgot)
	if err != nil {
		return nil, err
	}
	return &telemetry{r, refused}, nil
}

func (t *telemetry) refused(what string) {
	t.refusals.Add(context.Background(), 1, metric.WithAttributes(attribute.String("otelgc.item", what)))
}

func (t *telemetry) close() error { return t.registration.Unregister() }
