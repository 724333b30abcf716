package attribution

import (
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// mostTogether is how many services one message has. With all their series they take
// about 4 MiB, and some milliseconds in which no request is counted; a thousand took
// a quarter of a GiB, of which no limit knows.
const mostTogether = 16

// Metrics yields the sums since start, or since the service was first seen, as
// cumulative counters, by service, of at most [mostTogether] services at a time. What
// was yielded is the caller's. Instance tells apart Collectors that count spans of the
// same services, so that each series has one writer.
func (a *Attributor) Metrics(start, now time.Time, instance string) iter.Seq[pmetric.Metrics] {
	return func(yield func(pmetric.Metrics) bool) {
		a.sums.mu.Lock()
		all := slices.Clone(a.sums.order)
		a.sums.mu.Unlock()
		for names := range slices.Chunk(all, mostTogether) {
			if md := a.sums.message(names, start, now, instance); !yield(md) {
				return
			}
		}
	}
}

// message writes the sums of some services.
func (s *sums) message(names []serviceName, start, now time.Time, instance string) pmetric.Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	md := pmetric.NewMetrics()
	for _, name := range names {
		t := s.services[name]
		if t == nil {
			continue // it made way meanwhile
		}
		rm := md.ResourceMetrics().AppendEmpty()
		resource := rm.Resource().Attributes()
		if name.namespace != "" {
			resource.PutStr("service.namespace", name.namespace)
		}
		resource.PutStr("service.name", name.name)
		if instance != "" {
			resource.PutStr("collector.instance.id", instance)
		}
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName(scopeName)
		w := metricWriter{start: pcommon.NewTimestampFromTime(later(start, t.began)), now: pcommon.NewTimestampFromTime(now)}
		w.service(sm, &t.serviceSums)
	}
	return md
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
