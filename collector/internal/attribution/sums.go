package attribution

import (
	"math"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// buckets are the latency buckets of otelgc.request.*, as in process.
var buckets = [...]struct {
	name string
	most time.Duration
}{
	{"le_1ms", time.Millisecond}, {"le_5ms", 5 * time.Millisecond}, {"le_10ms", 10 * time.Millisecond},
	{"le_50ms", 50 * time.Millisecond}, {"le_100ms", 100 * time.Millisecond}, {"le_500ms", 500 * time.Millisecond},
	{"le_1s", time.Second}, {"gt_1s", 1<<63 - 1},
}

const numBuckets = len(buckets)

// owners are the causes, and then app, app_or_host, uncertain and unseen.
const owners = int(stall.NumCauses) + 4

// Requests are summed up by fidelity. Of those whose runtime nobody watched there is
// none to tell, nor how many collections delayed them.
const (
	unwatched     = int(stall.Exact) + 1
	numFidelities = unwatched + 1
)

// sum is what the requests of one bucket and fidelity had.
type sum struct {
	hits  [len(overlaps)][gc.NumKinds]hits
	owned [owners]time.Duration
}

// hits are the requests that so many collections delayed, of which the gravest
// was of one kind.
type hits struct {
	requests uint64
	time     time.Duration
}

type serviceName struct{ namespace, name string }

// serviceSums are the sums of one service.
type serviceSums struct {
	by   [numBuckets][numFidelities]sum
	some [numBuckets][numFidelities]bool // which of by are not zero
}

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
func (t *serviceSums) none() bool { return t.some == [numBuckets][numFidelities]bool{} }

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
	for b := range more.by {
		for f := range more.by[b] {
			if !more.some[b][f] {
				continue
			}
			to, from := &t.by[b][f], &more.by[b][f]
			for n := range from.hits {
				for k := range from.hits[n] {
					to.hits[n][k].requests += from.hits[n][k].requests
					to.hits[n][k].time = plus(to.hits[n][k].time, from.hits[n][k].time)
				}
			}
			for i, d := range from.owned {
				to.owned[i] = plus(to.owned[i], d)
			}
			t.some[b][f], more.some[b][f] = true, false
			*from = sum{}
		}
	}
}

// add counts one request.
func (t *serviceSums) add(o *outcome) {
	s := o.share
	b := 0
	for s.Total > buckets[b].most {
		b++
	}
	f := int(min(s.Fidelity, stall.Exact))
	if !o.watched() {
		f = unwatched
	}
	t.some[b][f] = true
	u := &t.by[b][f]
	h := &u.hits[min(max(s.Collections, 0), len(overlaps)-1)][o.kind]
	h.requests++
	h.time = plus(h.time, s.Total)
	for c, d := range s.Charged {
		u.owned[c] = plus(u.owned[c], d)
	}
	for i, d := range [...]time.Duration{s.App, s.AppOrHost, s.Uncertain, s.Unseen} {
		at := &u.owned[int(stall.NumCauses)+i]
		*at = plus(*at, d)
	}
}

// plus adds what is not negative, and stays at the 292 years that a Duration holds:
// 15,000 spans of a week, as anybody may claim them, are more, and a counter must
// not fall.
func plus(sum, more time.Duration) time.Duration { return sum + min(more, math.MaxInt64-sum) }

// ownerName returns the value of otelgc.cause for an owner.
func ownerName(i int) string {
	if c := stall.Cause(i); c < stall.NumCauses {
		return c.String()
	}
	return [...]string{"app", "app_or_host", "uncertain", "unseen"}[i-int(stall.NumCauses)]
}
