package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/services"
	"github.com/otelgc/otelgc/collector/internal/wire"
)

// summed returns all sums, of Collector "one", as one message; ok is false while there are none.
func summed(a *Attributor, began, now time.Time) (all pmetric.Metrics, ok bool) {
	all = pmetric.NewMetrics()
	for md := range a.Metrics(began, now, "one") {
		md.ResourceMetrics().MoveAndAppendTo(all.ResourceMetrics())
	}
	return all, all.ResourceMetrics().Len() > 0
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
	md, _ := summed(a, start, start.Add(time.Second))
	if got := md.ResourceMetrics().Len() - 1; got < 10 || got > 25 {
		t.Errorf("%d services have sums of their own, want an eighth of %d bytes of them", got, limit)
	}
	last := md.ResourceMetrics().At(md.ResourceMetrics().Len() - 1).Resource().Attributes()
	if got := wire.Text(last, "service.name"); got != services.Others.Name {
		t.Errorf("the last service is %q, want %q", got, services.Others.Name)
	}
	if counted := a.Known(); took > counted+counted/4+int(unsafe.Sizeof(services.Requests{})) || // and the others
		counted > limit/budget.MostSummed+int(unsafe.Sizeof(services.Requests{})) {
		t.Errorf("%d bytes on the heap, %d counted, limit of sums %d", took, counted, limit/budget.MostSummed)
	}
}
