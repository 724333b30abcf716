package attribution

import (
	"sync"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

type serviceName struct{ namespace, name string }

// serviceSums are the sums of one service.
type serviceSums struct{ semconv.Sums }

// sums holds the sums of all services that were seen, up to a bound of services
// and of memory. A service has at most 824 series: of 8 latency buckets and 2
// fidelities each, 12 by what delayed its requests, twice, and 21 by owner; of those
// that nobody watched 2 in each bucket, and 11 by owner.
type sums struct {
	account   *account
	mu        sync.Mutex
	most      int
	services  map[serviceName]*service
	order     []serviceName
	now       time.Time // the last tick; zero while nobody ticks
	looked    time.Time // the last time that nobody was idle
	forgotten uint64    // services that made way
}

// otherServices is the name under which services beyond the bound are counted.
var otherServices = serviceName{name: "otelgc.other_services"}

func (s *sums) init(most int, a *account) {
	s.account, s.most, s.services = a, most, make(map[serviceName]*service)
}

// weight returns what the sums of a service take.
func (n *serviceName) weight() int {
	return sumsBytes + serviceBytes + 2*textBytes + len(n.namespace) + len(n.name)
}

// serviceOf returns the service that a resource is of.
func serviceOf(resource pcommon.Map) serviceName {
	return serviceName{text(resource, "service.namespace"), text(resource, "service.name")}
}

// none reports whether nothing was counted.
func (t *serviceSums) none() bool {
	for b := range t.Sums {
		for f := range t.Sums[b] {
			if !t.Sums[b][f].IsZero() {
				return false
			}
		}
	}
	return true
}

// add adds the sums of spans of one service, and clears them.
func (s *sums) add(name serviceName, more *serviceSums) {
	if more.none() {
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
	t.take(more)
}

// take moves the sums of more to t.
func (t *serviceSums) take(more *serviceSums) {
	for b := range more.Sums {
		for f := range more.Sums[b] {
			if from := &more.Sums[b][f]; !from.IsZero() {
				t.Sums[b][f].Add(from)
				*from = semconv.Sum{}
			}
		}
	}
}

// add counts one request.
func (t *serviceSums) add(o *outcome) {
	t.Add(o.share, o.share.Collections, o.kind, o.watched())
}
