package services

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var start = time.Unix(1_000_000, 0)

func unlimited() *budget.Budget { return &budget.Budget{MaxBytes: 1 << 30, MaxSpans: 1} }

// summed returns what the budget counts for sums.
func summed(b *budget.Budget) int {
	_, _, _, bytes := b.Sizes()
	return bytes
}

// whole returns all sums since start as one message.
func whole(s *Sums, now time.Time) pmetric.Metrics {
	all := pmetric.NewMetrics()
	for md := range s.Metrics(start, now, "", "") {
		md.ResourceMetrics().MoveAndAppendTo(all.ResourceMetrics())
	}
	return all
}

// TestMessages: no message has more than some services, and each service is in one.
// Between two of them others go on counting.
func TestMessages(t *testing.T) {
	a := New(1000, unlimited())
	count := func(i int) {
		var more Requests
		more.Sums[0][0].Hits[0][gc.NoKind] = semconv.Hits{Requests: 1, Time: time.Millisecond}
		a.Add(Name{Name: fmt.Sprint(i)}, more.Move())
	}
	const most = 2*mostTogether + 1
	for i := range most {
		count(i)
	}
	seen := make(map[string]int)
	for md := range a.Metrics(start, start, "", "") {
		count(most) // would wait for ever
		if n := md.ResourceMetrics().Len(); n > mostTogether {
			t.Errorf("a message of %d services, want %d at most", n, mostTogether)
		}
		for _, rm := range md.ResourceMetrics().All() {
			seen[wire.Text(rm.Resource().Attributes(), "service.name")]++
		}
	}
	for i := range most {
		if name := fmt.Sprint(i); seen[name] != 1 {
			t.Errorf("service %s is in %d messages, want 1", name, seen[name])
		}
	}
}

// TestServicesMakeWay: where there is no room a service that had no request for an
// hour makes way for one that has, and begins anew when it comes back.
func TestServicesMakeWay(t *testing.T) {
	b := unlimited()
	a := New(2, b)
	count := func(after time.Duration, names ...string) {
		a.Tick(start.Add(after))
		for _, name := range names {
			var more Requests
			more.Sums[0][0].Hits[0][gc.NoKind] = semconv.Hits{Requests: 1, Time: time.Millisecond}
			a.Add(Name{Name: name}, more.Move())
		}
	}
	series := func() map[string]time.Duration { // when they began
		got := make(map[string]time.Duration)
		md := whole(a, start.Add(24*time.Hour))
		for _, rm := range md.ResourceMetrics().All() {
			p := rm.ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
			got[wire.Text(rm.Resource().Attributes(), "service.name")] = p.StartTimestamp().AsTime().Sub(start.UTC())
		}
		return got
	}
	const minute = time.Minute
	count(0, "job 1", "shop", "job 2")
	count(59*minute, "shop", "job 2")
	want := map[string]time.Duration{"job 1": 0, "shop": 0, Others.Name: 0}
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("after 59 minutes (-want +got):\n%s", diff)
	}
	known := summed(b)
	count(60*minute, "job 3", "job 4")
	want = map[string]time.Duration{"shop": 0, "job 3": time.Hour, Others.Name: 0}
	if diff := cmp.Diff(want, series()); diff != "" || a.Forgotten() != 1 || summed(b) != known {
		t.Errorf("after an hour: %d forgotten, %d bytes, want 1 and %d (-want +got):\n%s", a.Forgotten(), summed(b), known, diff)
	}
	count(130*minute, "job 1", "shop")
	want = map[string]time.Duration{"shop": 130 * minute, "job 1": 130 * minute, Others.Name: 0}
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("after 130 minutes (-want +got):\n%s", diff)
	}
}

// TestSeries: however requests end, a service has no more series than is said.
func TestSeries(t *testing.T) {
	const mostSeries = 824
	a := New(1000, unlimited())
	full := new(Requests)
	for b := range full.Sums {
		for f := range full.Sums[b] {
			u := &full.Sums[b][f]
			if f == semconv.Unwatched {
				u.Hits[0][gc.NoKind] = semconv.Hits{Requests: 1, Time: time.Second}
				for i := range u.Owned {
					if of := semconv.Owner(i).String(); strings.HasPrefix(of, "host.") || of == "runtime.suspension" || of == "uncertain" || of == "unseen" {
						u.Owned[i] = time.Second
					}
				}
				continue
			}
			for n := range u.Hits {
				for k := range u.Hits[n] {
					u.Hits[n][k] = semconv.Hits{Requests: 1, Time: time.Second}
				}
			}
			for i := range u.Owned[1:] {
				u.Owned[i+1] = time.Second
			}
		}
	}
	a.Add(Name{Name: "shop"}, full.Move())
	md := whole(a, start)
	n := 0
	for _, metric := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if metric.Type() == pmetric.MetricTypeSum {
			n += metric.Sum().DataPoints().Len()
		}
	}
	if n != mostSeries {
		t.Errorf("a service can have %d series, want %d", n, mostSeries)
	}
}

// TestCountersStay: whatever lengths spans claim, a counter never falls.
func TestCountersStay(t *testing.T) {
	a := New(1000, unlimited())
	week := stall.Share{Total: wire.LongestSpan, App: wire.LongestSpan}
	last := 0.0
	for range 8 {
		var more Requests
		for range 4000 {
			more.Sums.Add(&week, 0, gc.NoKind, false)
		}
		a.Add(Name{Name: "shop"}, more.Move())
		md := whole(a, start.Add(time.Second))
		metrics := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
		if n := metrics.Len(); n != 3 {
			t.Fatalf("%d metrics, want 3", n)
		}
		for i := 1; i < 3; i++ {
			if got := metrics.At(i).Sum().DataPoints().At(0).DoubleValue(); got < last {
				t.Fatalf("%s fell from %v s to %v s", metrics.At(i).Name(), last, got)
			} else if i == 2 {
				last = got
			}
		}
	}
	if want := time.Duration(1<<63 - 1).Seconds(); last != want {
		t.Errorf("got %v s, want %v: nothing is proven", last, want)
	}
}
