package telemetry

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// sum is the sum of a metric over the series whose attribute has one of the
// values.
type sum struct {
	metric, attr string
	values       []string
}

// number is one number of the method, as a ratio of sums. The page has the
// list and the test computes it, so what the page says can be done.
type number struct {
	meaning string
	part    sum
	of      sum
}

func numberList() []number {
	watched := func(metric string) sum { return sum{metric, semconv.AttrGCOverlap, semconv.Overlaps[:]} }
	all, time := watched(semconv.MetricRequests), watched(semconv.MetricRequestTime)
	affected := func(s sum) sum {
		s.values = semconv.Overlaps[1:]
		return s
	}
	var causes []string
	for c := range stall.NumCauses {
		if c.IsGC() {
			causes = append(causes, c.String())
		}
	}
	collector := sum{metric: semconv.MetricRequestStallTime, attr: semconv.AttrCause, values: causes}
	hit := func(attr, value string) sum { return sum{metric: all.metric, attr: attr, values: []string{value}} }
	return []number{
		{"requests affected by garbage collection", affected(all), all},
		{"its share of the time of those requests", collector, affected(time)},
		{"its share of the time of all requests", collector, time},
		{"requests hit by one collection", hit(semconv.AttrGCOverlap, semconv.Overlaps[1]), all},
		{"requests hit by several", hit(semconv.AttrGCOverlap, semconv.Overlaps[2]), all},
		{"requests hit by a full blocking one", hit(semconv.AttrGCKind, gc.FullBlocking.String()), all},
	}
}

func (s sum) String() string {
	text := "sum of " + code(s.metric)
	switch {
	case s.attr == "":
		return text
	case s.attr == semconv.AttrGCOverlap && len(s.values) == len(semconv.Overlaps):
		return text + " with " + code(s.attr)
	}
	return text + " where " + code(s.attr) + " is " + strings.Join(s.values, " or ")
}

// over returns the sum over what was exported.
func (s sum) over(t *testing.T, exported []metricdata.Metrics) float64 {
	t.Helper()
	for _, m := range exported {
		if m.Name != s.metric {
			continue
		}
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			return sumPoints(s, d.DataPoints)
		case metricdata.Sum[float64]:
			return sumPoints(s, d.DataPoints)
		}
	}
	t.Fatalf("%s was not exported as a sum", s.metric)
	return 0
}

func sumPoints[N int64 | float64](s sum, points []metricdata.DataPoint[N]) (total float64) {
	for _, p := range points {
		v, _ := p.Attributes.Value(attribute.Key(s.attr))
		if s.attr == "" || slices.Contains(s.values, v.AsString()) {
			total += float64(p.Value)
		}
	}
	return total
}

// TestNumbers computes each number from what is exported, and from the requests
// themselves.
func TestNumbers(t *testing.T) {
	r := newRig(t, Options{})
	const ms = time.Millisecond
	request := func(total time.Duration, collections int, kind gc.Kind, charges map[stall.Cause]time.Duration) {
		s := stall.Share{Total: total, Fidelity: stall.Exact, AppOrHost: total}
		for c, d := range charges {
			s.Charged[c] = d
			s.AppOrHost -= d
		}
		r.Request(&Request{Share: &s, Collections: collections, Kind: kind})
	}
	request(1*ms, 0, gc.NoKind, map[stall.Cause]time.Duration{stall.Queue: ms / 2, stall.SchedGC: ms / 2})
	request(9*ms, 0, gc.FullBlocking, nil) // it delayed nothing, so it is of no kind
	request(10*ms, 1, gc.Background, map[stall.Cause]time.Duration{stall.GCPause: ms, stall.GCAssist: 2 * ms, stall.Sched: ms})
	request(20*ms, 1, gc.FullBlocking, map[stall.Cause]time.Duration{stall.GCPause: 6 * ms})
	request(40*ms, 3, gc.Background, map[stall.Cause]time.Duration{stall.GCSweep: 3 * ms, stall.GCWait: 2 * ms})
	want := []float64{3. / 5, 14. / 70, 14. / 80, 2. / 5, 1. / 5, 1. / 5}

	exported := collect(t, r.reader)
	got := make([]float64, 0, len(want))
	for _, n := range numberList() {
		got = append(got, n.part.over(t, exported)/n.of.over(t, exported))
	}
	if !slices.EqualFunc(want, got, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("got %v, want %v", got, want)
	}
}
