package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// MaxRoutes bounds the values of the route attribute. Requests of further routes,
// and those of names longer than [MaxRouteLength], count under [OtherRoute]; those
// without a route have no such attribute.
//
// With all in use there are at most (MaxRoutes+2) x 8 buckets x 2 fidelities x 21
// owners series, and in practice the few that are not zero. The SDK folds what is
// over its own limit, 2000 series of an instrument by default, into one, in the
// order in which it observes them: that is the order in which routes came.
const MaxRoutes = 20

// MaxRouteLength bounds the name of a route, in bytes.
const MaxRouteLength = 256

// OtherRoute is the route of what is over MaxRoutes.
const OtherRoute = "other"

// stallFloor is the least charge that is worth a sample of a histogram. The
// sums hold every nanosecond.
const stallFloor = 10 * time.Microsecond

// Request is one resolved window.
type Request struct {
	Share       *stall.Share
	Collections int               // that delayed it, see [stall.Share.Collections]
	Kind        gc.Kind           // the gravest of them
	Span        trace.SpanContext // for exemplars; may be invalid
	Route       string            // optional
}

// requests are the metrics of requests. Their sums are arrays of our own: nothing
// of the SDK is on the request's path.
type requests struct {
	stall *instrument[stallSeries]

	mu     sync.Mutex
	routes map[string]*semconv.Sums
	names  []string // of routes, in the order in which they came
	named  int      // of them, those with a name of their own: neither none nor OtherRoute
	ready  map[requestSeries]metric.ObserveOption
	key    string // of the attribute that has the route
}

type stallSeries struct {
	cause    stall.Cause
	fidelity stall.Fidelity
	route    string
}

// requestSeries tells apart the series of the observable counters.
type requestSeries struct {
	route    string
	bucket   int
	fidelity stall.Fidelity
	owner    semconv.Owner // zero for the counters by overlap and kind
	overlap  int
	kind     gc.Kind
}

func (k requestSeries) attributes(key string) []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String(semconv.AttrLatencyBucket, semconv.Buckets[k.bucket].Name),
		attribute.String(semconv.AttrFidelity, k.fidelity.String()),
	}
	a = append(a, routeAttribute(key, k.route)...)
	if k.owner != 0 {
		return append(a, attribute.String(semconv.AttrCause, k.owner.String()))
	}
	return append(append(a, kindAttribute(k.kind)...), attribute.String(semconv.AttrGCOverlap, semconv.Overlaps[k.overlap]))
}

func routeAttribute(key, route string) []attribute.KeyValue {
	if route == "" {
		return nil
	}
	return []attribute.KeyValue{attribute.String(key, route)}
}

func (r *requests) make(m *maker, tasks bool) {
	key := semconv.AttrRoute
	if tasks {
		key = semconv.AttrTask
	}
	r.key = key
	r.routes, r.ready = make(map[string]*semconv.Sums), make(map[requestSeries]metric.ObserveOption)
	r.stall = newInstrument(m, semconv.MetricRequestStall, func(k stallSeries) []attribute.KeyValue {
		return append(routeAttribute(key, k.route),
			attribute.String(semconv.AttrCause, k.cause.String()), attribute.String(semconv.AttrFidelity, k.fidelity.String()))
	})
	total, owned, count := m.observable(semconv.MetricRequestTime), m.observable(semconv.MetricRequestStallTime), m.observable(semconv.MetricRequests)
	m.observe(func(o metric.Observer) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.each(func(k requestSeries, sum *semconv.Sum) {
			for n := range sum.Hits {
				for kind, h := range sum.Hits[n] {
					if h.Requests > 0 {
						k.overlap, k.kind = n, gc.Kind(kind)
						count.observe(o, slog.Int64Value(semconv.Int64(h.Requests)), r.option(k))
						total.observe(o, slog.Float64Value(h.Time.Seconds()), r.option(k))
					}
				}
			}
			k.overlap, k.kind = 0, 0
			for owner, d := range sum.Owned {
				if d > 0 {
					k.owner = semconv.Owner(owner)
					owned.observe(o, slog.Float64Value(d.Seconds()), r.option(k))
				}
			}
		})
	})
}

// each yields the sums that hold a request, in the same order every time.
func (r *requests) each(yield func(requestSeries, *semconv.Sum)) {
	for _, route := range r.names {
		sums := r.routes[route]
		for b := range sums {
			for f := range sums[b] {
				if !sums[b][f].IsZero() {
					yield(requestSeries{route: route, bucket: b, fidelity: stall.Fidelity(f)}, &sums[b][f])
				}
			}
		}
	}
}

// option returns the attributes of k, made once. It is called with the lock held;
// routes are bounded, and so is what is kept.
func (r *requests) option(k requestSeries) metric.ObserveOption {
	o, ok := r.ready[k]
	if !ok {
		o = metric.WithAttributeSet(attribute.NewSet(k.attributes(r.key)...))
		r.ready[k] = o
	}
	return o
}

// Request counts one request. It is for the goroutine that resolves windows,
// never for the request's own.
func (t *Telemetry) Request(q *Request) {
	route := t.requests.add(q)
	if s := q.Share; s.Total-s.Charged[stall.Queue]-s.App-s.AppOrHost-s.Uncertain-s.Unseen < stallFloor {
		return // no cause has that much: the parts sum to Total
	}
	ctx := context.Background()
	for c := stall.GCPause; c < stall.Queue; c++ {
		d := q.Share.Charged[c]
		if d < stallFloor {
			continue
		}
		if q.Span.IsValid() && !trace.SpanContextFromContext(ctx).IsValid() {
			// The span's context, never the request's: that may be cancelled,
			// and would be kept alive.
			ctx = trace.ContextWithSpanContext(ctx, q.Span)
		}
		t.requests.stall.record(ctx, d.Seconds(), stallSeries{c, q.Share.Fidelity, route})
	}
}

// add sums up one request and returns the name that its route counts under.
func (r *requests) add(q *Request) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sums, route := r.sumsOf(q.Route)
	sums.Add(q.Share, q.Collections, q.Kind, true)
	return route
}

// sumsOf returns the sums of a route, and the name that it counts under.
func (r *requests) sumsOf(route string) (*semconv.Sums, string) {
	if s := r.routes[route]; s != nil {
		return s, route
	}
	if route != "" && route != OtherRoute {
		if r.named == MaxRoutes || len(route) > MaxRouteLength {
			return r.sumsOf(OtherRoute)
		}
		r.named++
	}
	s := new(semconv.Sums)
	r.routes[route] = s
	r.names = append(r.names, route)
	return s, route
}
