package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// summed returns all sums, of Collector "one", as one message; ok is false while there are none.
func summed(a *Attributor, began, now time.Time) (all pmetric.Metrics, ok bool) {
	all = pmetric.NewMetrics()
	for md := range a.Metrics(began, now, "one") {
		md.ResourceMetrics().MoveAndAppendTo(all.ResourceMetrics())
	}
	return all, all.ResourceMetrics().Len() > 0
}

// TestMessages: no message has more than some services, and each service is in one.
// Between two of them others go on counting.
func TestMessages(t *testing.T) {
	a := New(Config{})
	count := func(i int) {
		var more serviceSums
		more.Sums[0][0].Hits[0][gc.NoKind] = semconv.Hits{Requests: 1, Time: time.Millisecond}
		a.sums.add(serviceName{name: fmt.Sprint(i)}, more.move())
	}
	const services = 2*mostTogether + 1
	for i := range services {
		count(i)
	}
	seen := make(map[string]int)
	for md := range a.Metrics(start, start, "") {
		count(services) // would wait for ever
		if n := md.ResourceMetrics().Len(); n > mostTogether {
			t.Errorf("a message of %d services, want %d at most", n, mostTogether)
		}
		for _, rm := range md.ResourceMetrics().All() {
			seen[text(rm.Resource().Attributes(), "service.name")]++
		}
	}
	for i := range services {
		if name := fmt.Sprint(i); seen[name] != 1 {
			t.Errorf("service %s is in %d messages, want 1", name, seen[name])
		}
	}
}

// TestServicesAreCounted: the sums of services are of the limit too, and beyond
// their part of it services count as one.
func TestServicesAreCounted(t *testing.T) {
	const limit = 1 << 20
	a := New(Config{MaxBytes: limit})
	a.Hold(received(t, newSender().span(100*sec, 101*sec)), Sink{}, start)
	a.Flush() // what joins and reads is there once, whatever counts
	before := heap()
	for i := range 200 {
		s := newSender()
		s.pid, s.boot = int64(i+1), fmt.Sprint(i)
		td := s.span(100*sec, 101*sec)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", fmt.Sprintf("%d%s", i, strings.Repeat("x", 200)))
		a.Hold(received(t, td), Sink{Count: true}, start)
		a.Flush()
	}
	took := heap() - before
	if got := len(a.sums.order); got < 10 || got > 25 {
		t.Errorf("%d services have sums of their own, want an eighth of %d bytes of them", got, limit)
	}
	md, _ := summed(a, start, start.Add(time.Second))
	last := md.ResourceMetrics().At(md.ResourceMetrics().Len() - 1).Resource().Attributes()
	if got := text(last, "service.name"); got != otherServices.name {
		t.Errorf("the last service is %q, want %q", got, otherServices.name)
	}
	if counted := a.Known(); took > counted+counted/4+int(unsafe.Sizeof(serviceSums{})) || // and the others
		counted > limit/mostSummed+int(unsafe.Sizeof(serviceSums{})) {
		t.Errorf("%d bytes on the heap, %d counted, limit of sums %d", took, counted, limit/mostSummed)
	}
}

// TestServicesMakeWay: where there is no room a service that had no request for an
// hour makes way for one that has, and begins anew when it comes back.
func TestServicesMakeWay(t *testing.T) {
	a := New(Config{MaxServices: 2})
	count := func(after time.Duration, names ...string) {
		a.Tick(start.Add(after))
		for _, name := range names {
			var more serviceSums
			more.Sums[0][0].Hits[0][gc.NoKind] = semconv.Hits{Requests: 1, Time: time.Millisecond}
			a.sums.add(serviceName{name: name}, more.move())
		}
	}
	series := func() map[string]time.Duration { // when they began
		got := make(map[string]time.Duration)
		md, _ := summed(a, start, start.Add(24*time.Hour))
		for _, rm := range md.ResourceMetrics().All() {
			p := rm.ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
			got[text(rm.Resource().Attributes(), "service.name")] = p.StartTimestamp().AsTime().Sub(start.UTC())
		}
		return got
	}
	const minute = time.Minute
	count(0, "job 1", "shop", "job 2")
	count(59*minute, "shop", "job 2")
	want := map[string]time.Duration{"job 1": 0, "shop": 0, otherServices.name: 0}
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("after 59 minutes (-want +got):\n%s", diff)
	}
	known := a.Known()
	count(60*minute, "job 3", "job 4")
	want = map[string]time.Duration{"shop": 0, "job 3": time.Hour, otherServices.name: 0}
	if diff := cmp.Diff(want, series()); diff != "" || a.Lost().ServicesForgotten != 1 || a.Known() != known {
		t.Errorf("after an hour: %d forgotten, %d bytes, want 1 and %d (-want +got):\n%s", a.Lost().ServicesForgotten, a.Known(), known, diff)
	}
	count(130*minute, "job 1", "shop")
	want = map[string]time.Duration{"shop": 130 * minute, "job 1": 130 * minute, otherServices.name: 0}
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("after 130 minutes (-want +got):\n%s", diff)
	}
}

// TestSeries: however requests end, a service has no more series than is said.
func TestSeries(t *testing.T) {
	const most = 824
	a := New(Config{})
	full := new(serviceSums)
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
	a.sums.add(serviceName{name: "shop"}, full.move())
	md, _ := summed(a, start, start)
	n := 0
	for _, metric := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if metric.Type() == pmetric.MetricTypeSum {
			n += metric.Sum().DataPoints().Len()
		}
	}
	if n != most {
		t.Errorf("a service can have %d series, want %d", n, most)
	}
}
