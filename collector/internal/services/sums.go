// Package services sums up requests by service, as the metrics that a process with
// otelgc in it exports itself.
package services

import (
	"iter"
	"slices"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Name is what a service goes by: service.namespace, which may be empty, and
// service.name.
type Name struct{ Namespace, Name string }

// Requests are the sums of one service.
type Requests struct{ semconv.Sums }

// CellBytes is what a cell takes, and MostCells how many a service can have.
const (
	CellBytes = int(unsafe.Sizeof(Cell{}))
	MostCells = len(semconv.Sums{}) * len(semconv.Sums{}[0])
)

// serviceBytes is a service in the index of sums.
const serviceBytes = 224

// Sums holds the sums of all services that were seen, up to a bound of services
// and of memory. A service has at most 824 series: of 8 latency buckets and 2
// fidelities each, 12 by what delayed its requests, twice, and 21 by owner; of those
// that were not watched 2 in each bucket, and 11 by owner.
type Sums struct {
	budget *budget.Budget

	mu        sync.Mutex
	most      int
	services  map[Name]*service
	order     []Name
	now       time.Time // the last tick; zero before
	looked    time.Time // the last time that none was idle
	forgotten uint64    // services that made way
}

// Others is the name under which services beyond the bound are counted.
var Others = Name{Name: "otelgc.other_services"}

// New returns the sums of at most so many services, and one for the others.
func New(most int, b *budget.Budget) *Sums {
	return &Sums{budget: b, most: most, services: make(map[Name]*service)}
}

// weight returns what the sums of a service take.
func (n *Name) weight() int {
	return int(unsafe.Sizeof(Requests{})) + serviceBytes + 2*wire.TextBytes + len(n.Namespace) + len(n.Name)
}

// Of returns the service that a resource is of.
func Of(resource pcommon.Map) Name {
	return Name{wire.Text(resource, "service.namespace"), wire.Text(resource, "service.name")}
}

// Add adds the sums of spans of one service.
func (s *Sums) Add(name Name, more []Cell) {
	if len(more) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.services[name]
	if t == nil && !s.room(name) {
		name = Others
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

// Cell is the sums of a service in one latency bucket and fidelity.
type Cell struct {
	bucket, fidelity int
	semconv.Sum
}

// Move returns the sums that are not zero, and clears them.
func (t *Requests) Move() (cells []Cell) {
	for b := range t.Sums {
		for f := range t.Sums[b] {
			if sum := &t.Sums[b][f]; !sum.IsZero() {
				cells = append(cells, Cell{b, f, *sum})
				*sum = semconv.Sum{}
			}
		}
	}
	return cells
}

// service is a service that is known by name.
type service struct {
	Requests
	began time.Time // zero: before the first tick
	last  time.Time // that a request counted
}

// idleService is how long a service has no request until another may have its place.
// It was exported many times meanwhile.
const idleService = time.Hour

// room reports whether another service may have sums of its own. Where there is no
// room the one that was idle longest makes way: its series end, and begin anew at a
// later time if it comes back.
func (s *Sums) room(name Name) bool {
	return s.fits(name) || s.makeWay() && s.fits(name)
}

// fits counts the sums of another service if there is room.
func (s *Sums) fits(name Name) bool {
	named := len(s.order)
	if s.services[Others] != nil {
		named--
	}
	return named < s.most && s.budget.AddSums(name.weight())
}

// makeWay forgets the service that was idle longest, for idleService at least. It
// reports false if there is none, which it looks for once a tick.
func (s *Sums) makeWay() bool {
	if s.looked.Equal(s.now) {
		return false
	}
	at := -1
	for i, name := range s.order {
		last := s.services[name].last
		if name != Others && s.now.Sub(last) >= idleService && (at < 0 || last.Before(s.services[s.order[at]].last)) {
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
	s.budget.DropSums(name.weight())
	s.forgotten++
	return true
}

// Forgotten returns how many services made way for others.
func (s *Sums) Forgotten() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// Tick says what time it is.
func (s *Sums) Tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// metricWriter writes sums as the metrics that a process with otelgc has itself.
type metricWriter struct{ start, now pcommon.Timestamp }

func (w *metricWriter) service(sm pmetric.ScopeMetrics, t *Requests) {
	requests := w.counter(sm, semconv.MetricOf(semconv.MetricRequests))
	total := w.counter(sm, semconv.MetricOf(semconv.MetricRequestTime))
	owned := w.counter(sm, semconv.MetricOf(semconv.MetricRequestStallTime))
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

func (w *metricWriter) counter(sm pmetric.ScopeMetrics, d semconv.Metric) pmetric.Sum {
	m := sm.Metrics().AppendEmpty()
	m.SetName(d.Name)
	m.SetUnit(d.Unit)
	m.SetDescription(d.Brief)
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
// cumulative counters, by service, of at most mostTogether services at a time. The
// caller owns what is yielded. Instance keeps apart Collectors that count spans of the
// same services, so that each series has one writer. Scope names the instrumentation.
func (s *Sums) Metrics(start, now time.Time, instance, scope string) iter.Seq[pmetric.Metrics] {
	return func(yield func(pmetric.Metrics) bool) {
		s.mu.Lock()
		all := slices.Clone(s.order)
		s.mu.Unlock()
		for names := range slices.Chunk(all, mostTogether) {
			if !yield(s.message(names, start, now, instance, scope)) {
				return
			}
		}
	}
}

// message writes the sums of some services.
func (s *Sums) message(names []Name, start, now time.Time, instance, scope string) pmetric.Metrics {
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
		if name.Namespace != "" {
			resource.PutStr("service.namespace", name.Namespace)
		}
		resource.PutStr("service.name", name.Name)
		if instance != "" {
			resource.PutStr("collector.instance.id", instance)
		}
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName(scope)
		w := metricWriter{start: pcommon.NewTimestampFromTime(later(start, t.began)), now: pcommon.NewTimestampFromTime(now)}
		w.service(sm, &t.Requests)
	}
	return md
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
