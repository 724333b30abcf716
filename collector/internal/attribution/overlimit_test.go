package attribution

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestOverTheLimitCounts: requests that find no room took place all the same: they
// count, as seen by nobody, but for those that count themselves.
func TestOverTheLimitCounts(t *testing.T) {
	own := func(td ptrace.Traces) {
		m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		m.PutStr(semconv.AttrFidelity, "exact")
		m.PutDouble(semconv.App.Key(), 10e-3)
	}
	client := func(td ptrace.Traces) {
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetKind(ptrace.SpanKindClient)
	}
	as := func(ptrace.Traces) {}
	for name, x := range map[string]struct {
		count  string
		source stall.Origin
		change func(ptrace.Traces)
		want   int64
		series string // that there has to be, by the end
	}{
		"all":                      {CountAll, stall.GCWatch, as, 10, "otelgc.cause:unseen"},
		"charges of its own":       {CountAll, stall.GCWatch, own, 10, "otelgc.cause:app "},
		"no request":               {CountAll, stall.GCWatch, client, 0, ""},
		"attached":                 {CountAttached, stall.Dotnet, as, 10, "otelgc.cause:unseen"},
		"attached, otelgc inside":  {CountAttached, stall.GCWatch, as, 0, ""},
		"attached, of its process": {CountAttached, stall.Dotnet, own, 0, ""},
	} {
		for _, waits := range []bool{false, true} {
			s, a, c := newSender(), New(Config{MaxSpans: 1, Count: x.count}), new(catcher)
			a.Learn(s.status(x.source, 99*sec))
			a.budget.MaxSpans = 0
			for range 10 {
				td := s.span(100*sec, 100*sec+10*ms)
				x.change(td)
				if !waits {
					a.Hold(td, c.sink(), start)
					continue
				}
				ready := make(chan *Parcel, 1)
				a.Hold(td, c.sink().waits(context.Background(), ready), start)
				p := <-ready
				if p.Spans.SpanCount() != 1 {
					t.Fatalf("%s: %d spans came back at once, want 1", name, p.Spans.SpanCount())
				}
				before := requested(a)
				if p.Done(true); x.want > 0 && requested(a) != before+1 {
					t.Errorf("%s: %d requests after %d, want one when it was taken", name, requested(a), before)
				}
			}
			series := strings.Join(a.series(start.Add(time.Second)), " ")
			if got := requested(a); got != x.want || !strings.Contains(series, x.series) {
				t.Errorf("%s, waits %v: %d requests in %s, want %d with %s", name, waits, got, series, x.want, x.series)
			}
			if got := a.Lost().SpansOverLimit; got != 10 {
				t.Errorf("%s: %d spans over the limit, want 10", name, got)
			}
		}
	}
}
