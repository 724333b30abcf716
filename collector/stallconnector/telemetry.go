package stallconnector

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/collector/internal/attribution"
	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/semconv"
)

// telemetry is what the connector says of itself, under its id: several of one
// Collector would write the same series.
type telemetry struct {
	*metadata.TelemetryBuilder
	id attribute.KeyValue
}

func observe(s connector.Settings, a *attribution.Attributor) (telemetry, error) {
	b, err := metadata.NewTelemetryBuilder(s.TelemetrySettings)
	if err != nil {
		return telemetry{}, err
	}
	t := telemetry{b, attribute.String(componentID, s.ID.String())}
	err = errors.Join(
		b.RegisterConnectorStallHeldSpansCallback(func(_ context.Context, o metric.Int64Observer) error {
			spans, _ := a.Held()
			o.Observe(int64(spans), t.with())
			return nil
		}),
		b.RegisterConnectorStallHeldBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			_, bytes := a.Held()
			o.Observe(int64(bytes+a.Known()), t.with())
			return nil
		}),
		b.RegisterConnectorStallSpansUnattributedCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.SpansOverLimit), t.why("limit"))
			o.Observe(int64(l.SpansTimedOut), t.why("timeout"))
			o.Observe(int64(l.SpansUnknown), t.why("unknown"))
			o.Observe(int64(l.SpansAmbiguous), t.why("ambiguous"))
			o.Observe(int64(l.SpansDisbelieved), t.why("disbelieved"))
			o.Observe(int64(l.SpansTime), t.why("time"))
			return nil
		}),
		b.RegisterConnectorStallEventsDroppedCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.Duplicates), t.why("duplicate"))
			for reason, n := range l.Events {
				o.Observe(int64(n), t.why(reason))
			}
			return nil
		}),
		b.RegisterConnectorStallTracedRequestsCallback(func(_ context.Context, o metric.Int64Observer) error {
			r := a.Traced()
			o.Observe(int64(r.Joined), t.with())
			o.Observe(int64(r.Ambiguous), t.why("ambiguous"))
			o.Observe(int64(r.Unmatched), t.why("unmatched"))
			o.Observe(int64(r.Limit), t.why("limit"))
			return nil
		}),
		b.RegisterConnectorStallClockDisagreementsCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(a.Lost().Disagreements), t.with())
			return nil
		}),
		b.RegisterConnectorStallForgottenCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.HostsForgotten), t.item("host"))
			o.Observe(int64(l.ProcessesForgotten), t.item("process"))
			o.Observe(int64(l.ServicesForgotten), t.item("service"))
			return nil
		}),
	)
	if err != nil {
		b.Shutdown()
		return telemetry{}, err
	}
	return t, nil
}

func (t telemetry) refused(what string) {
	t.ConnectorStallRefused.Add(context.Background(), 1, t.item(what))
}

func (t telemetry) abandoned() { t.ConnectorStallAbandoned.Add(context.Background(), 1, t.with()) }

// componentID is the name that the Collector has for it.
const componentID = "otelcol.component.id"

func (t telemetry) why(s string) metric.MeasurementOption {
	return t.with(attribute.String(semconv.AttrErrorType, s))
}

func (t telemetry) item(s string) metric.MeasurementOption {
	return t.with(attribute.String(semconv.AttrItem, s))
}

func (t telemetry) with(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more, t.id)...)
}
