package attribution

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestNoLength: a span of no length is as well watched as the instant at which it
// was; of one whose times cannot be nobody knows anything, and it is no request of
// any length.
func TestNoLength(t *testing.T) {
	const week = 7 * 24 * 3600 * sec
	for name, x := range map[string]struct {
		watched    bool // the process, else its machine alone
		start, end int64
		coverage   float64
		overlap    string
		requests   int64
		odd        uint64
	}{
		"no length":                  {true, 100 * sec, 100 * sec, 1, "none", 1, 0},
		"before it was watched":      {true, 90 * sec, 90 * sec, 0, "", 1, 0},
		"nobody watches":             {false, 100 * sec, 100 * sec, 0, "", 1, 0},
		"backwards":                  {true, 100 * sec, 100*sec - ms, 0, "", 0, 1},
		"backwards, nobody watches":  {false, 100 * sec, 100*sec - ms, 0, "", 0, 1},
		"eight days":                 {true, 101*sec - week - sec, 101 * sec, 0, "", 0, 1},
		"eight days, nobody watches": {false, 101*sec - week - sec, 101 * sec, 0, "", 0, 1},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		source := stall.ProbePeriodic
		if x.watched {
			source = stall.GCWatch
		}
		a.Learn(s.status(source, 99*sec))
		a.Learn(s.status(source, 101*sec))
		td := s.span(100*sec, 101*sec)
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		span.SetStartTimestamp(pcommon.Timestamp(x.start + s.off))
		span.SetEndTimestamp(pcommon.Timestamp(x.end + s.off))
		a.Hold(td, c.sink(), start)
		a.Tick(start.Add(10 * time.Second))
		m := c.spans[0].Attributes()
		if got := floats(m)[semconv.AttrCoverage]; got != x.coverage || wire.Text(m, semconv.AttrGCOverlap) != x.overlap || wire.Text(m, semconv.AttrFidelity) == "exact" {
			t.Errorf("%s: %v, want coverage %v, overlap %q", name, m.AsRaw(), x.coverage, x.overlap)
		}
		if got := a.Lost().SpansTime; got != x.odd || requested(a) != x.requests {
			t.Errorf("%s: %d requests and %d spans of odd times, want %d and %d", name, requested(a), got, x.requests, x.odd)
		}
	}
}
