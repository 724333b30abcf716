package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var (
	requestStall = Metric{
		semconv.MetricRequestStall, Histogram, "s", []string{semconv.AttrCause, semconv.AttrFidelity, semconv.AttrRoute},
		"Time that one cause cost one request, of the requests that were stalled by 10 us or more; queue is not among the causes.",
	}
	requestTime = Metric{
		semconv.MetricRequestTime, ObservableCounter, semconv.UnitSeconds, requestHits, semconv.MeaningRequestTime,
	}
	requestStallTime = Metric{
		semconv.MetricRequestStallTime, ObservableCounter, semconv.UnitSeconds, []string{semconv.AttrCause, semconv.AttrLatencyBucket, semconv.AttrFidelity, semconv.AttrRoute},
		semconv.MeaningRequestStallTime,
	}
	requestCount = Metric{
		semconv.MetricRequests, ObservableCounter, semconv.UnitRequests, requestHits, semconv.MeaningRequests,
	}
	requestHits = []string{semconv.AttrGCOverlap, semconv.AttrGCKind, semconv.AttrLatencyBucket, semconv.AttrFidelity, semconv.AttrRoute}

	requestMetrics = []Metric{requestStall, requestTime, requestStallTime, requestCount}
)

// stallFloor is the least charge that is worth a sample of a histogram. The
// sums hold every nanosecond.
const stallFloor = 10 * time.Microsecond

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
	Kind        gc.Kind           // the gravest of them
	Span        trace.SpanContext // for exemplars; may be invalid
	Route       string            // optional
}

type stallKey struct {
	cause    stall.Cause
	fidelity stall.Fidelity
	route    string
}

// kind returns the kind that q counts under: none where no collection delayed it.
func (q *Request) kind() gc.Kind {
	if q.Collections <= 0 || q.Kind >= gc.NumKinds {
		return gc.NoKind
	}
	return q.Kind
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
	kind                          gc.Kind
	fidelity                      stall.Fidelity
}

func (k requestSeries) attributes() []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String(semconv.AttrLatencyBucket, k.bucket),
		attribute.String(semconv.AttrFidelity, k.fidelity.String()),
	}
	for _, o := range [...]struct{ key, value string }{
		{semconv.AttrRoute, k.route}, {semconv.AttrCause, k.owner}, {semconv.AttrGCOverlap, k.overlap},
	} {
		if o.value != "" {
			a = append(a, attribute.String(o.key, o.value))
		}
	}
	if k.kind != gc.NoKind {
		a = append(a, attribute.String(semconv.AttrGCKind, k.kind.String()))
	}
	return a
}
