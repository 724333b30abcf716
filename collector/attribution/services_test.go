package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestServicesAreCounted: the sums of services are of the limit too, and beyond
// their part of it services count as one.
func TestServicesAreCounted(t *testing.T) {
	const limit = 1 << 20
	a := New(Config{MaxBytes: limit})
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
	md, _ := a.Metrics(start, start.Add(time.Second), "")
	last := md.ResourceMetrics().At(md.ResourceMetrics().Len() - 1).Resource().Attributes()
	if got := text(last, "service.name"); got != otherServices.name {
		t.Errorf("the last service is %q, want %q", got, otherServices.name)
	}
	if counted := a.Known(); took > counted+counted/4 || counted > limit/mostSummed+sumsBytes {
		t.Errorf("%d bytes on the heap, %d counted, limit of sums %d", took, counted, limit/mostSummed)
	}
}

// TestSeries: however requests end, a service has no more series than is said.
func TestSeries(t *testing.T) {
	const most = 720
	a := New(Config{})
	full := new(serviceSums)
	for b := range full.by {
		for f := range full.by[b] {
			full.some[b][f] = true
			u := &full.by[b][f]
			for n := range u.hits {
				for k := range u.hits[n] {
					u.hits[n][k] = hits{1, time.Second}
				}
			}
			for i := range u.owned[1:] {
				u.owned[i+1] = time.Second
			}
		}
	}
	a.sums.add(serviceName{name: "shop"}, full)
	md, _ := a.Metrics(start, start, "")
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
