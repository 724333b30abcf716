package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/stall"
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

// sum is what the requests of one bucket and fidelity had.
type sum struct {
	requests [len(overlaps)]uint64
	time     [len(overlaps)]time.Duration
	owned    [owners]time.Duration
}

type serviceName struct{ namespace, name string }

// serviceSums are the sums of one service.
type serviceSums struct {
	by [numBuckets][2]sum
}

// sums holds the sums of all services that were seen, up to a bound.
type sums struct {
	most     int
	services map[serviceName]*serviceSums
	order    []serviceName
}

// others is the name under which services beyond the bound are counted.
const others = "otelgc.other_services"

func (s *sums) init(most int) { *s = sums{most: most, services: make(map[serviceName]*serviceSums)} }

// service returns the sums of a resource's service.
func (s *sums) service(resource pcommon.Map) *serviceSums {
	of := []pcommon.Map{resource}
	name := serviceName{text("service.namespace", of), text("service.name", of)}
	if _, ok := s.services[name]; !ok && len(s.order) >= s.most {
		name = serviceName{name: others}
	}
	t := s.services[name]
	if t == nil {
		t = new(serviceSums)
		s.services[name] = t
		s.order = append(s.order, name)
	}
	return t
}

func (t *serviceSums) add(s *stall.Share) {
	b := 0
	for s.Total > buckets[b].most {
		b++
	}
	u := &t.by[b][min(s.Fidelity, stall.Exact)]
	n := min(max(s.Collections, 0), len(overlaps)-1)
	u.requests[n]++
	u.time[n] += s.Total
	for c, d := range s.Charged {
		u.owned[c] += d
	}
	for i, d := range [...]time.Duration{s.App, s.AppOrHost, s.Uncertain, s.Unseen} {
		u.owned[int(stall.NumCauses)+i] += d
	}
}

// ownerName returns the value of otelgc.cause for an owner.
func ownerName(i int) string {
	if c := stall.Cause(i); c < stall.NumCauses {
		return c.String()
	}
	return [...]string{"app", "app_or_host", "uncertain", "unseen"}[i-int(stall.NumCauses)]
}

// Metrics returns the sums since start as cumulative counters, by service; ok is
// false while there are none. Instance tells apart Collectors that count spans of
// the same services, so that each series has one writer.
func (a *Attributor) Metrics(start, now time.Time, instance string) (md pmetric.Metrics, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	md = pmetric.NewMetrics()
	w := metricWriter{start: pcommon.NewTimestampFromTime(start), now: pcommon.NewTimestampFromTime(now)}
	for _, name := range a.sums.order {
		t := a.sums.services[name]
		if !t.any() {
			continue
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
		w.service(sm, t)
	}
	return md, md.ResourceMetrics().Len() > 0
}

func (t *serviceSums) any() bool { return *t != serviceSums{} }
