package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/stall"
)

// metricWriter writes sums as the metrics that a process with otelgc has itself.
type metricWriter struct{ start, now pcommon.Timestamp }

func (w *metricWriter) service(sm pmetric.ScopeMetrics, t *serviceSums) {
	requests := w.counter(sm, stall.MetricRequests, "{request}")
	total := w.counter(sm, stall.MetricRequestTime, "s")
	owned := w.counter(sm, stall.MetricRequestStallTime, "s")
	for b := range t.by {
		for f := range t.by[b] {
			u := &t.by[b][f]
			for n := range u.requests {
				if u.requests[n] == 0 {
					continue
				}
				p := w.point(requests, b, f)
				p.SetIntValue(int64(u.requests[n]))
				p.Attributes().PutStr(stall.AttrGCOverlap, overlaps[n])
				p = w.point(total, b, f)
				p.SetDoubleValue(u.time[n].Seconds())
				p.Attributes().PutStr(stall.AttrGCOverlap, overlaps[n])
			}
			for i, d := range u.owned {
				if d > 0 {
					p := w.point(owned, b, f)
					p.SetDoubleValue(d.Seconds())
					p.Attributes().PutStr(stall.AttrCause, ownerName(i))
				}
			}
		}
	}
}

func (w *metricWriter) counter(sm pmetric.ScopeMetrics, name, unit string) pmetric.Sum {
	m := sm.Metrics().AppendEmpty()
	m.SetName(name)
	m.SetUnit(unit)
	s := m.SetEmptySum()
	s.SetIsMonotonic(true)
	s.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	return s
}

func (w *metricWriter) point(s pmetric.Sum, bucket, fidelity int) pmetric.NumberDataPoint {
	p := s.DataPoints().AppendEmpty()
	p.SetStartTimestamp(w.start)
	p.SetTimestamp(w.now)
	p.Attributes().PutStr(stall.AttrLatencyBucket, buckets[bucket].name)
	p.Attributes().PutStr(stall.AttrFidelity, stall.Fidelity(fidelity).String())
	return p
}
