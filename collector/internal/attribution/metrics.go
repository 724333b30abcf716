package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// metricWriter writes sums as the metrics that a process with otelgc has itself.
type metricWriter struct{ start, now pcommon.Timestamp }

func (w *metricWriter) service(sm pmetric.ScopeMetrics, t *serviceSums) {
	requests := w.counter(sm, semconv.MetricRequests, semconv.UnitRequests, semconv.MeaningRequests)
	total := w.counter(sm, semconv.MetricRequestTime, semconv.UnitSeconds, semconv.MeaningRequestTime)
	owned := w.counter(sm, semconv.MetricRequestStallTime, semconv.UnitSeconds, semconv.MeaningRequestStallTime)
	for b := range t.Sums {
		for f := range t.Sums[b] {
			sum := &t.Sums[b][f]
			w.hits(requests, total, sum, b, f)
			for o, d := range sum.Owned {
				if d > 0 {
					p := w.point(owned, b, f)
					p.SetDoubleValue(d.Seconds())
					p.Attributes().PutStr(semconv.AttrCause, semconv.Owner(o).String())
				}
			}
		}
	}
}

// hits writes the requests, and their time, by what delayed them.
func (w *metricWriter) hits(requests, total pmetric.Sum, sum *semconv.Sum, bucket, fidelity int) {
	for n := range sum.Hits {
		for kind, h := range sum.Hits[n] {
			if h.Requests == 0 {
				continue
			}
			count, time := w.point(requests, bucket, fidelity), w.point(total, bucket, fidelity)
			count.SetIntValue(int64(h.Requests))
			time.SetDoubleValue(h.Time.Seconds())
			for _, p := range [...]pmetric.NumberDataPoint{count, time} {
				if fidelity != semconv.Unwatched {
					p.Attributes().PutStr(semconv.AttrGCOverlap, semconv.Overlaps[n])
				}
				if k := gc.Kind(kind); k != gc.NoKind {
					p.Attributes().PutStr(semconv.AttrGCKind, k.String())
				}
			}
		}
	}
}

func (w *metricWriter) counter(sm pmetric.ScopeMetrics, name, unit, meaning string) pmetric.Sum {
	m := sm.Metrics().AppendEmpty()
	m.SetName(name)
	m.SetUnit(unit)
	m.SetDescription(meaning)
	s := m.SetEmptySum()
	s.SetIsMonotonic(true)
	s.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	return s
}

func (w *metricWriter) point(s pmetric.Sum, bucket, fidelity int) pmetric.NumberDataPoint {
	p := s.DataPoints().AppendEmpty()
	p.SetStartTimestamp(w.start)
	p.SetTimestamp(w.now)
	p.Attributes().PutStr(semconv.AttrLatencyBucket, semconv.Buckets[bucket].Name)
	if fidelity != semconv.Unwatched {
		p.Attributes().PutStr(semconv.AttrFidelity, stall.Fidelity(fidelity).String())
	}
	return p
}
