package attribution

import (
	"iter"
	"slices"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

type serviceName struct{ namespace, name string }

// serviceSums are the sums of one service.
type serviceSums struct{ semconv.Sums }

// sums holds the sums of all services that were seen, up to a bound of services
// and of memory. A service has at most 824 series: of 8 latency buckets and 2
// fidelities each, 12 by what delayed its requests, twice, and 21 by owner; of those
// that were not watched 2 in each bucket, and 11 by owner.
type sums struct {
	account   *account
	mu        sync.Mutex
	most      int
	services  map[serviceName]*service
	order     []serviceName
	now       time.Time // the last tick; zero before
	looked    time.Time // the last time that none was idle
	forgotten uint64    // services that made way
}

// otherServices is the name under which services beyond the bound are counted.
var otherServices = serviceName{name: "otelgc.other_services"}

func (s *sums) init(most int, a *account) {
	s.account, s.most, s.services = a, most, make(map[serviceName]*service)
}

// weight returns what the sums of a service take.
func (n *serviceName) weight() int {
	return int(unsafe.Sizeof(serviceSums{})) + serviceBytes + 2*textBytes + len(n.namespace) + len(n.name)
}

// serviceOf returns the service that a resource is of.
func serviceOf(resource pcommon.Map) serviceName {
	return serviceName{text(resource, "service.namespace"), text(resource, "service.name")}
}

// add adds the sums of spans of one service.
func (s *sums) add(name serviceName, more []cell) {
	if len(more) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.services[name]
	if t == nil && !s.room(name) {
		name = otherServices
		t = s.services[name]
	}
	if t == nil {
		t = &service{began: s.now}
		s.services[name] = t
		s.order = append(s.order, name)
	}
	t.last = s.now
	for i := range more {
		c := &more[i]
		t.Sums[c.bucket][c.fidelity].Add(&c.Sum)
	}
}

// cell is the sums of a service in one latency bucket and fidelity.
type cell struct {
	bucket, fidelity int
	semconv.Sum
}

// move returns what t has, and clears it.
func (t *serviceSums) move() (cells []cell) {
	for b := range t.Sums {
		for f := range t.Sums[b] {
			if sum := &t.Sums[b][f]; !sum.IsZero() {
				cells = append(cells, cell{b, f, *sum})
				*sum = semconv.Sum{}
			}
		}
	}
	return cells
}

// add counts one request.
func (t *serviceSums) add(o *outcome) {
	t.Add(o.share, o.share.Collections, o.kind, o.watched())
}

// service is a service that is known by name.
type service struct {
	serviceSums
	began time.Time // zero: before the first tick
	last  time.Time // that a request counted
}

// idleService is how long a service has no request until another may have its place.
// It was exported many times meanwhile.
const idleService = time.Hour

// room reports whether another service may have sums of its own. Where there is no
// room the one that was idle longest makes way: its series end, and begin anew at a
// later time if it comes back.
func (s *sums) room(name serviceName) bool {
	return s.fits(name) || s.makeWay() && s.fits(name)
}

// fits counts the sums of another service if there is room.
func (s *sums) fits(name serviceName) bool {
	named := len(s.order)
	if s.services[otherServices] != nil {
		named--
	}
	return named < s.most && s.account.sum(name.weight())
}

// makeWay forgets the service that was idle longest, for idleService at least. It
// reports false if there is none, which it looks for once a tick.
func (s *sums) makeWay() bool {
	if s.looked.Equal(s.now) {
		return false
	}
	at := -1
	for i, name := range s.order {
		last := s.services[name].last
		if name != otherServices && s.now.Sub(last) >= idleService && (at < 0 || last.Before(s.services[s.order[at]].last)) {
			at = i
		}
	}
	if at < 0 {
		s.looked = s.now
		return false
	}
	name := s.order[at]
	delete(s.services, name)
	s.order = slices.Delete(s.order, at, at+1)
	s.account.unsum(name.weight())
	s.forgotten++
	return true
}

// gone returns how many services made way.
func (s *sums) gone() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// tick lets time pass.
func (s *sums) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

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

// mostTogether is how many services one message has. With all their series they take
// about 4 MiB, and some milliseconds in which no request is counted; a thousand took
// a quarter of a GiB, of which no limit knows.
const mostTogether = 16

// Metrics yields the sums since start, or since the service was first seen, as
// cumulative counters, by service, of at most [mostTogether] services at a time. What
// was yielded is the caller's. Instance keeps apart Collectors that count spans of the
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
