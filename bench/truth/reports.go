package truth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
)

// reports reads the monitor's telemetry: its losses, and the callers that stopped the
// world.
type reports struct {
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
	logs   *sdklog.LoggerProvider

	callers map[string]int // of suspensions; complete after stop
}

func newReports() *reports {
	r := &reports{reader: sdkmetric.NewManualReader(), callers: make(map[string]int)}
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	r.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(r)))
	return r
}

func (r *reports) stop(ctx context.Context) error {
	return errors.Join(r.logs.Shutdown(ctx), r.meters.Shutdown(ctx))
}

// Export counts the callers of suspensions. The processor serializes its calls.
func (r *reports) Export(_ context.Context, records []sdklog.Record) error {
	for i := range records {
		if records[i].EventName() != semconv.EventSuspension {
			continue
		}
		records[i].WalkAttributes(func(v attribute.KeyValue) bool {
			if v.Key == semconv.AttrCodeFunction {
				r.callers[v.Value.AsString()]++
			}
			return true
		})
	}
	return nil
}

// Shutdown has nothing to end.
func (r *reports) Shutdown(context.Context) error { return nil }

// ForceFlush has nothing to send.
func (r *reports) ForceFlush(context.Context) error { return nil }

// harmless are items whose loss changes no request's share.
var harmless = []string{"event", "suspension", "cross_check", "slow_request", "tap_generation"}

// dropped returns the losses that matter to requests, such as
// "generation decoder_behind 2".
func (r *reports) dropped(ctx context.Context) (string, error) {
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(ctx, &all); err != nil {
		return "", fmt.Errorf("read metrics: %w", err)
	}
	var lost []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			s, ok := m.Data.(metricdata.Sum[int64])
			if m.Name != semconv.MetricDropped || !ok {
				continue
			}
			for _, p := range s.DataPoints {
				if item := value(p.Attributes, semconv.AttrItem); p.Value > 0 && !slices.Contains(harmless, item) {
					lost = append(lost, fmt.Sprintf("%s %s %d", item, value(p.Attributes, semconv.AttrErrorType), p.Value))
				}
			}
		}
	}
	return strings.Join(lost, ", "), nil
}

func value(s attribute.Set, key string) string {
	v, _ := s.Value(attribute.Key(key))
	return v.AsString()
}
