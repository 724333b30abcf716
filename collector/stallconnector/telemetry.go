package stallconnector

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/collector/attribution"
	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/stall"
)

// telemetry is what the connector says of itself.
type telemetry struct{ *metadata.TelemetryBuilder }

func observe(s component.TelemetrySettings, a *attribution.Attributor) (telemetry, error) {
	b, err := metadata.NewTelemetryBuilder(s)
	if err != nil {
		return telemetry{}, err
	}
	err = errors.Join(
		b.RegisterConnectorStallHeldSpansCallback(func(_ context.Context, o metric.Int64Observer) error {
			spans, _ := a.Held()
			o.Observe(int64(spans))
			return nil
		}),
		b.RegisterConnectorStallHeldBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			_, bytes := a.Held()
			o.Observe(int64(bytes + a.Known()))
			return nil
		}),
		b.RegisterConnectorStallSpansUnattributedCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.SpansOverLimit), why("limit"))
			o.Observe(int64(l.SpansTimedOut), why("timeout"))
			o.Observe(int64(l.SpansUnknown), why("unknown"))
			o.Observe(int64(l.SpansAmbiguous), why("ambiguous"))
			return nil
		}),
		b.RegisterConnectorStallEventsDroppedCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.Duplicates), why("duplicate"))
			for reason, n := range l.Events {
				o.Observe(int64(n), why(reason))
			}
			return nil
		}),
		b.RegisterConnectorStallForgottenCallback(func(_ context.Context, o metric.Int64Observer) error {
			l := a.Lost()
			o.Observe(int64(l.HostsForgotten), item("host"))
			o.Observe(int64(l.ProcessesForgotten), item("process"))
			return nil
		}),
	)
	if err != nil {
		b.Shutdown()
		return telemetry{}, err
	}
	return telemetry{b}, nil
}

func (t telemetry) refused(what string) {
	t.ConnectorStallRefused.Add(context.Background(), 1, item(what))
}

func (t telemetry) abandoned() { t.ConnectorStallAbandoned.Add(context.Background(), 1) }

func why(s string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(stall.AttrErrorType, s))
}

func item(s string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(stall.AttrItem, s))
}
