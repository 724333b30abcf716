package telemetry

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// TestRequestTimeSums: the owners' time sums to the requests' time.
func TestRequestTimeSums(t *testing.T) {
	r := newRig(t, Options{})
	playRequests(r)
	var total, owned float64
	for _, m := range collect(t, r.reader) {
		if d, ok := m.Data.(metricdata.Sum[float64]); ok {
			for _, p := range d.DataPoints {
				switch m.Name {
				case semconv.MetricRequestTime:
					total += p.Value
				case semconv.MetricRequestStallTime:
					owned += p.Value
				}
			}
		}
	}
	if total == 0 || fmt.Sprintf("%.9f", total) != fmt.Sprintf("%.9f", owned) {
		t.Errorf("got %v s of requests and %v s by owner, want the same", total, owned)
	}
}

// TestRequestExemplar: a stall's sample leads to the request's span.
func TestRequestExemplar(t *testing.T) {
	r := newRig(t, Options{})
	playRequests(r)
	want := spanContext()
	for _, m := range collect(t, r.reader) {
		h, ok := m.Data.(metricdata.Histogram[float64])
		if m.Name != semconv.MetricRequestStall || !ok {
			continue
		}
		var linked int
		for _, p := range h.DataPoints {
			for _, e := range p.Exemplars {
				linked++
				if trace, span := want.TraceID(), want.SpanID(); string(e.TraceID) != string(trace[:]) || string(e.SpanID) != string(span[:]) {
					t.Errorf("exemplar of %x %x, want %s %s", e.TraceID, e.SpanID, trace, span)
				}
			}
		}
		// Queue is no cause of the histogram.
		if want := int(stall.Queue - stall.GCPause); linked != want {
			t.Errorf("%d exemplars, want one of each of the %d causes", linked, want)
		}
		return
	}
	t.Fatal("no histogram of stalls")
}

// TestRequestRoutesBounded: whatever the program calls its routes, there are at
// most MaxRoutes and the one for all others, and every request is counted.
func TestRequestRoutesBounded(t *testing.T) {
	r := newRig(t, Options{})
	s := stall.Share{Total: time.Millisecond}
	s.Charged[stall.GCAssist] = time.Millisecond
	const n = 500
	for i := range n {
		r.Request(&Request{Share: &s, Route: fmt.Sprintf("/user/%d", i)})
	}
	r.Request(&Request{Share: &s, Route: strings.Repeat("x", MaxRouteLength+1)})
	var count int64
	for _, m := range collect(t, r.reader) {
		got := len(seriesOf(m))
		if strings.HasPrefix(m.Name, "otelgc.request") && got != MaxRoutes+1 {
			t.Errorf("%s has %d series, want %d", m.Name, got, MaxRoutes+1)
		}
		if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == semconv.MetricRequests {
			for _, p := range d.DataPoints {
				count += p.Value
			}
		}
	}
	if count != n+1 {
		t.Errorf("%d requests counted, want %d", count, n+1)
	}
}

// TestTasks: of a program whose requests are tasks, the name is no route.
func TestTasks(t *testing.T) {
	r := newRig(t, Options{Tasks: true})
	s := stall.Share{Total: time.Millisecond}
	s.Charged[stall.GCAssist] = time.Millisecond
	r.Request(&Request{Share: &s, Route: "GET /"})
	named := 0
	for _, m := range collect(t, r.reader) {
		if !strings.HasPrefix(m.Name, "otelgc.request") {
			continue
		}
		if keys := keysOf(m); !keys[semconv.AttrTask] || keys[semconv.AttrRoute] {
			t.Errorf("%s has the attributes %v", m.Name, sorted(keys))
		}
		named++
	}
	if named != 4 {
		t.Errorf("%d metrics of requests, want 4", named)
	}
}

// TestRequestsWithoutRoute take no route's place, nor do those of names that are too
// long: as many routes as are promised are told apart beside them.
func TestRequestsWithoutRoute(t *testing.T) {
	r := newRig(t, Options{})
	s := stall.Share{Total: time.Millisecond}
	want := []string{"", OtherRoute}
	r.Request(&Request{Share: &s})
	r.Request(&Request{Share: &s, Route: strings.Repeat("x", MaxRouteLength+1)})
	for i := range MaxRoutes {
		want = append(want, fmt.Sprintf("/%d", i))
		r.Request(&Request{Share: &s, Route: want[len(want)-1]})
	}
	r.Request(&Request{Share: &s, Route: "/one too many"})
	if diff := cmp.Diff(want, r.requests.names); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

// TestRequestSeriesStay: with more series than the SDK keeps, the same ones are
// told every time, or else each would be a counter that falls, and nothing is
// missing from their sum.
func TestRequestSeriesStay(t *testing.T) {
	r := newRig(t, Options{})
	for route := range MaxRoutes {
		for _, l := range semconv.Buckets {
			s := stall.Share{Total: min(l.Max, time.Minute)}
			for c := range s.Charged {
				s.Charged[c] = s.Total / time.Duration(len(s.Charged))
			}
			r.Request(&Request{Share: &s, Route: fmt.Sprintf("/%d", route)})
		}
	}
	told := func() (series map[attribute.Distinct]bool, sum float64) {
		series = make(map[attribute.Distinct]bool)
		for _, m := range collect(t, r.reader) {
			if d, ok := m.Data.(metricdata.Sum[float64]); ok && m.Name == semconv.MetricRequestStallTime {
				for _, p := range d.DataPoints {
					series[p.Attributes.Equivalent()] = true
					sum += p.Value
				}
			}
		}
		return series, sum
	}
	first, sum := told()
	if all := MaxRoutes * len(semconv.Buckets) * (len(stall.Share{}.Charged) - 1); len(first) >= all {
		t.Fatalf("%d series of %d are told, so that the SDK folds none", len(first), all)
	}
	for range 10 {
		again, s := told()
		if !maps.Equal(first, again) || math.Abs(s-sum) > 1e-6*sum {
			t.Fatalf("other series than before: %d and %d, of %v s and %v s", len(first), len(again), sum, s)
		}
	}
}

// TestRequestAllocs: counting a request allocates nothing, nor does a stall of
// one without a span.
func TestRequestAllocs(t *testing.T) {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	tel, err := New(Options{Meter: meters.Meter("otelgc")})
	if err != nil {
		t.Fatal(err)
	}
	calm := stall.Share{Total: time.Millisecond, AppOrHost: time.Millisecond}
	stalled := calm
	stalled.Charged[stall.GCPause] = time.Millisecond
	of := spanContext()
	record := func() {
		tel.Request(&Request{Share: &calm, Span: of, Route: "/a"})
		tel.Request(&Request{Share: &stalled, Route: "/a"})
	}
	record()
	if got := testing.AllocsPerRun(100, record); got != 0 {
		t.Errorf("counting allocates %v times, want 0", got)
	}
}

// TestSlowIsNoStall: the event of a slow request holds no source's watermark
// back, and is no loss of the source when it is over the limit.
func TestSlowIsNoStall(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 2})
	s := stall.Share{Total: time.Second}
	for i := range 5 {
		w := stall.Window{Start: stall.Instant(i + 1), End: stall.Instant(time.Second)}
		r.Slow(&semconv.Slow{Share: &s, Sentence: "slow"}, trace.SpanContext{}, &w, stall.GoTrace)
	}
	r.Status(semconv.Status{Origin: stall.GoTrace, At: 9_000_000, Watermark: 8_000_000})
	w, _ := attr(r.events.taken()[0], semconv.AttrWatermark)
	if got, want := w.AsInt64(), int64(8_000_000); got != want {
		t.Errorf("watermark: got %d, want %d", got, want)
	}
	if got := r.Loss(stall.GoTrace); got != (source.Loss{}) {
		t.Errorf("loss of gotrace: got %v, want none", got)
	}
	if got := len(r.nextSecond()); got != 2 {
		t.Errorf("%d events went out, want 2", got)
	}
	want := []string{"[error.type=rate_limit otelgc.item=event] = 3"}
	if diff := cmp.Diff(want, series1(t, r, semconv.MetricDropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func BenchmarkRequest(b *testing.B) {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	tel, err := New(Options{Meter: meters.Meter("otelgc")})
	if err != nil {
		b.Fatal(err)
	}
	s := stall.Share{Total: time.Millisecond, AppOrHost: time.Millisecond}
	q := Request{Share: &s, Route: "GET /orders"}
	b.ReportAllocs()
	for b.Loop() {
		tel.Request(&q)
	}
}
