package telemetry

import (
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// MaxRoutes bounds the values of the route attribute; requests of further
// routes, and those of names longer than [MaxRouteLength], count under
// [OtherRoute], and those without one have no such attribute. With all in use there
// are at most (MaxRoutes+2) x 8 buckets x 2 fidelities x 21 owners series, and in practice the
// few that are not zero. Requests and their time are told apart by overlap and
// kind instead of by owner: three ways for a process whose collections are all
// of one kind, as those of a Go process are. The SDK folds what is over its own
// limit, 2000 series of an instrument by default, into one, in the order in which
// it is told of them: so that is the order in which routes came, every time.
const MaxRoutes = 20

// MaxRouteLength bounds the name of a route, in bytes.
const MaxRouteLength = 256

// OtherRoute is the route of what is over MaxRoutes.
const OtherRoute = "other"

// Owners of time besides the causes, in the order of their series.
const (
	ownerApp = iota
	ownerAppOrHost
	ownerUncertain
	ownerUnseen
	restOwners
)

var restNames = [restOwners]string{"app", "app_or_host", "uncertain", "unseen"}

// latencyBounds are the fixed buckets of otelgc.latency.bucket: percentiles
// move, and what moves is never the value of an attribute.
var latencyBounds = [...]struct {
	below time.Duration
	name  string
}{
	{time.Millisecond, "le_1ms"},
	{5 * time.Millisecond, "le_5ms"},
	{10 * time.Millisecond, "le_10ms"},
	{50 * time.Millisecond, "le_50ms"},
	{100 * time.Millisecond, "le_100ms"},
	{500 * time.Millisecond, "le_500ms"},
	{time.Second, "le_1s"},
	{1<<63 - 1, "gt_1s"},
}

const latencyBuckets = len(latencyBounds)

func bucketOf(d time.Duration) int {
	for i := range latencyBounds {
		if d <= latencyBounds[i].below {
			return i
		}
	}
	return latencyBuckets - 1
}

// tally is the sums of one route, bucket and fidelity.
type tally struct {
	cause [stall.NumCauses]time.Duration
	rest  [restOwners]time.Duration
	hits  [len(overlaps)][gc.NumKinds]hits
}

// hits are the requests that so many collections delayed, of which the gravest
// was of one kind.
type hits struct {
	count int64
	time  time.Duration
}

// requestSums are our own arrays: nothing of the SDK is on the request's path,
// and a sum is one addition.
type requestSums struct {
	mu     sync.Mutex
	routes map[string]*[latencyBuckets][2]tally
	names  []string // of routes, in the order in which they came
	told   int      // of them, those that are told apart: neither none nor OtherRoute
}

// routeOf returns the tally of a route, and the name that it counts under.
func (r *requestSums) routeOf(route string) (*[latencyBuckets][2]tally, string) {
	if t := r.routes[route]; t != nil {
		return t, route
	}
	if route != "" && route != OtherRoute {
		if r.told == MaxRoutes || len(route) > MaxRouteLength {
			return r.routeOf(OtherRoute)
		}
		r.told++
	}
	t := new([latencyBuckets][2]tally)
	r.routes[route] = t
	r.names = append(r.names, route)
	return t, route
}

// add sums up one request and returns the name that its route counts under.
func (r *requestSums) add(q *Request) string {
	s := q.Share
	r.mu.Lock()
	defer r.mu.Unlock()
	all, route := r.routeOf(q.Route)
	t := &all[bucketOf(s.Total)][min(s.Fidelity, stall.Exact)]
	for c := range s.Charged {
		t.cause[c] += s.Charged[c]
	}
	t.rest[ownerApp] += s.App
	t.rest[ownerAppOrHost] += s.AppOrHost
	t.rest[ownerUncertain] += s.Uncertain
	t.rest[ownerUnseen] += s.Unseen
	h := &t.hits[min(max(q.Collections, 0), len(overlaps)-1)][q.kind()]
	h.count++
	h.time += s.Total
	return route
}
