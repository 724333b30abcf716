package otlptest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otelgc/otelgc/semconv/semconvtest"
)

// ownScopes is the prefix of the scopes whose names the registry has.
const ownScopes = "github.com/otelgc/otelgc"

// checkNames fails t if a scope of otelgc's has sent what is not in the registry of its
// names.
func (r *Receiver) checkNames(t testing.TB) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := map[string]bool{}
	note := func(all []string) {
		for _, w := range all {
			wrong[w] = true
		}
	}
	for _, rm := range r.metrics.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				if strings.HasPrefix(sm.GetScope().GetName(), ownScopes) {
					instrument, points := pointsOf(m)
					note(semconvtest.Metric(m.GetName(), instrument, m.GetUnit()))
					for _, p := range points {
						note(semconvtest.Point(m.GetName(), valuesOf(p)))
					}
				}
			}
		}
	}
	for _, rl := range r.logs.GetResourceLogs() {
		for _, sl := range rl.GetScopeLogs() {
			for _, record := range sl.GetLogRecords() {
				if strings.HasPrefix(sl.GetScope().GetName(), ownScopes) && record.GetEventName() != "" {
					note(semconvtest.Event(record.GetEventName(), valuesOf(record.GetAttributes())))
				}
			}
		}
	}
	for _, rs := range r.spans.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() { // anybody's
				note(semconvtest.Span(valuesOf(span.GetAttributes())))
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("received: %s", w)
	}
}

// pointsOf returns the instrument of m, by its synchronous name, and the attributes of its
// points.
func pointsOf(m *metrics.Metric) (instrument string, points [][]*common.KeyValue) {
	numbers := func(all []*metrics.NumberDataPoint) {
		for _, p := range all {
			points = append(points, p.GetAttributes())
		}
	}
	switch d := m.GetData().(type) {
	case *metrics.Metric_Gauge:
		instrument = "gauge"
		numbers(d.Gauge.GetDataPoints())
	case *metrics.Metric_Sum:
		instrument = "updowncounter"
		if d.Sum.GetIsMonotonic() {
			instrument = "counter"
		}
		numbers(d.Sum.GetDataPoints())
	case *metrics.Metric_Histogram:
		instrument = "histogram"
		for _, p := range d.Histogram.GetDataPoints() {
			points = append(points, p.GetAttributes())
		}
	}
	return instrument, points
}

func valuesOf(all []*common.KeyValue) map[string]any {
	m := make(map[string]any, len(all))
	for _, kv := range all {
		m[kv.GetKey()] = valueOf(kv.GetValue())
	}
	return m
}

func valueOf(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, item := range v.ArrayValue.GetValues() {
			list = append(list, valueOf(item))
		}
		return list
	}
	return nil
}
