package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

var (
	requestStall = Metric{
		stall.MetricRequestStall, Histogram, "s", []string{stall.AttrCause, stall.AttrFidelity, stall.AttrRoute},
		"Time that one cause cost one request, of the requests that were stalled by 10 us or more; queue is not among the causes.",
	}
	requestTime = Metric{
		stall.MetricRequestTime, ObservableCounter, "s", []string{stall.AttrLatencyBucket, stall.AttrFidelity, stall.AttrRoute},
		"Duration of all requests: the denominator of every share.",
	}
	requestStallTime = Metric{
		stall.MetricRequestStallTime, ObservableCounter, "s", []string{stall.AttrCause, stall.AttrLatencyBucket, stall.AttrFidelity, stall.AttrRoute},
		"Time of all requests by its owner: the causes, and app, app_or_host, uncertain and unseen. Sums to otelgc.request.time.",
	}
	requestCount = Metric{
		stall.MetricRequests, ObservableCounter, "{request}", []string{stall.AttrGCOverlap, stall.AttrLatencyBucket, stall.AttrFidelity, stall.AttrRoute},
		"Requests, by how many collections delayed them; in cycle fidelity by how many paused them, at most.",
	}

	requestMetrics = []Metric{requestStall, requestTime, requestStallTime, requestCount}
)

// MaxRoutes bounds the values of the route attribute; requests of further
// routes, and those of names longer than [MaxRouteLength], count under
// [OtherRoute]. With all of them in use there are at most
// MaxRoutes x 8 buckets x 2 fidelities x 21 owners series, and in practice the
// few that are not zero.
const MaxRoutes = 20

// MaxRouteLength bounds the name of a route, in bytes.
const MaxRouteLength = 256

// OtherRoute is the route of what is over MaxRoutes.
const OtherRoute = "other"

// stallFloor is the least charge that is worth a sample of a histogram. The
// sums hold every nanosecond.
const stallFloor = 10 * time.Microsecond

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

// overlaps are the values of otelgc.gc.overlap.
var overlaps = [...]string{"none", "one_collection", "several_collections"}

// Overlaps returns the values of otelgc.gc.overlap: for no collection, for one,
// and for more.
func Overlaps() [len(overlaps)]string { return overlaps }

// OverlapOf returns the value of otelgc.gc.overlap for a request that this many
// collections touched.
func OverlapOf(collections int) string { return overlaps[min(max(collections, 0), len(overlaps)-1)] }

// Request is one resolved window.
type Request struct {
	Share       *stall.Share
	Collections int               // that delayed it, see [stall.Share.Collections]
	Span        trace.SpanContext // for exemplars; may be invalid
	Route       string            // optional
}

// tally is the sums of one route, bucket and fidelity.
type tally struct {
	time  time.Duration
	cause [stall.NumCauses]time.Duration
	rest  [restOwners]time.Duration
	count [len(overlaps)]int64
}

// requestSums are our own arrays: nothing of the SDK is on the request's path,
// and a sum is one addition.
type requestSums struct {
	mu     sync.Mutex
	routes map[string]*[latencyBuckets][2]tally
}

type stallKey struct {
	cause    stall.Cause
	fidelity stall.Fidelity
	route    string
}

// routeOf returns the tally of a route, and the name that it counts under.
func (r *requestSums) routeOf(route string) (*[latencyBuckets][2]tally, string) {
	if t := r.routes[route]; t != nil {
		return t, route
	}
	full := len(r.routes) >= MaxRoutes || len(route) > MaxRouteLength
	if full && route != OtherRoute {
		return r.routeOf(OtherRoute)
	}
	t := new([latencyBuckets][2]tally)
	r.routes[route] = t
	return t, route
}

// add sums up one request and returns the name that its route counts under.
func (r *requestSums) add(q *Request) string {
	s := q.Share
	r.mu.Lock()
	defer r.mu.Unlock()
	all, route := r.routeOf(q.Route)
	t := &all[bucketOf(s.Total)][min(s.Fidelity, stall.Exact)]
	t.time += s.Total
	for c := range s.Charged {
		t.cause[c] += s.Charged[c]
	}
	t.rest[ownerApp] += s.App
	t.rest[ownerAppOrHost] += s.AppOrHost
	t.rest[ownerUncertain] += s.Uncertain
	t.rest[ownerUnseen] += s.Unseen
	t.count[min(max(q.Collections, 0), len(overlaps)-1)]++
	return route
}

// Request counts one request. It is for the goroutine that resolves windows,
// never for the request's own.
func (t *Telemetry) Request(q *Request) {
	route := t.requests.sums.add(q)
	s := q.Share
	ctx := context.Background()
	if !t.requests.stall.Enabled(ctx) {
		return
	}
	for c := stall.GCPause; c < stall.Queue; c++ {
		if s.Charged[c] < stallFloor {
			continue
		}
		if q.Span.IsValid() && !trace.SpanContextFromContext(ctx).IsValid() {
			// The span's context, never the request's: that may be cancelled,
			// and would be kept alive.
			ctx = trace.ContextWithSpanContext(ctx, q.Span)
		}
		t.requests.stall.Record(ctx, s.Charged[c].Seconds(), t.requests.byStall.record(stallKey{c, s.Fidelity, route})...)
	}
}

type requestInstruments struct {
	sums    requestSums
	stall   metric.Float64Histogram
	byStall *series[stallKey]
	ready   map[requestSeries]metric.ObserveOption // of the callback
}

// requestSeries tells apart the series of the observable counters.
type requestSeries struct {
	route, bucket, owner, overlap string
	fidelity                      stall.Fidelity
}

func (k requestSeries) attributes() []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String(stall.AttrLatencyBucket, k.bucket),
		attribute.String(stall.AttrFidelity, k.fidelity.String()),
	}
	for _, o := range [...]struct{ key, value string }{
		{stall.AttrRoute, k.route}, {stall.AttrCause, k.owner}, {stall.AttrGCOverlap, k.overlap},
	} {
		if o.value != "" {
			a = append(a, attribute.String(o.key, o.value))
		}
	}
	return a
}
