package stallconnector

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/semconv/semconvtest"
)

// checkNames fails t if w has sent what is not in the registry of the names.
func (w *whole) checkNames(t *testing.T) {
	report := func(wrong []string) {
		for _, text := range wrong {
			t.Error(text)
		}
	}
	for _, md := range w.toMetrics.AllMetrics() {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					if m.Type() != pmetric.MetricTypeSum || !m.Sum().IsMonotonic() {
						t.Errorf("%s is no counter", m.Name())
						continue
					}
					report(semconvtest.Metric(m.Name(), "counter", m.Unit()))
					for _, p := range m.Sum().DataPoints().All() {
						report(semconvtest.Point(m.Name(), p.Attributes().AsRaw()))
					}
				}
			}
		}
	}
	for _, ld := range w.toLogs.AllLogs() {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					report(semconvtest.Event(record.EventName(), record.Attributes().AsRaw()))
				}
			}
		}
	}
	for _, td := range w.toTraces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					report(semconvtest.Span(span.Attributes().AsRaw()))
				}
			}
		}
	}
}
