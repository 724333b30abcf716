package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestMetrics: the sums of the spans that were counted, by service, are those of
// their attributes.
func TestMetrics(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 99*sec))
	a.Learn(s.collectionOf(gc.Background, stall.GCWatch, 7, 100*sec+12*ms, 100*sec+15*ms, 0))
	a.Learn(s.collectionOf(gc.FullBlocking, stall.GCWatch, 8, 100*sec+40*ms, 100*sec+41*ms, 0))
	a.Learn(s.collectionOf(gc.Background, stall.GCWatch, 9, 100*sec+42*ms, 100*sec+43*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	for range 3 {
		a.Hold(s.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
	}
	a.Hold(s.span(100*sec+30*ms, 100*sec+31*ms), c.sink(), start)
	a.Hold(s.span(100*sec+39*ms, 100*sec+44*ms), c.sink(), start)
	a.Flush()
	md, ok := summed(a, start, start.Add(time.Second))
	if !ok {
		t.Fatal("no metrics")
	}
	got := map[string]float64{}
	rm := md.ResourceMetrics().At(0)
	// Without it two Collectors would write into one series.
	if id, _ := rm.Resource().Attributes().Get("collector.instance.id"); id.Str() != "one" {
		t.Errorf("collector.instance.id %q, want one", id.Str())
	}
	for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
		if m.Description() == "" || m.Unit() == "" {
			t.Errorf("%s: unit %q, description %q", m.Name(), m.Unit(), m.Description())
		}
		for _, p := range m.Sum().DataPoints().All() {
			key := m.Name()
			for _, k := range []string{semconv.AttrLatencyBucket, semconv.AttrGCOverlap, semconv.AttrGCKind, semconv.AttrCause} {
				if v, ok := p.Attributes().Get(k); ok {
					key += " " + v.Str()
				}
			}
			got[key] = p.DoubleValue() + float64(p.IntValue())
		}
	}
	want := map[string]float64{
		"otelgc.requests le_10ms one_collection background": 3, "otelgc.requests le_1ms none": 1,
		"otelgc.request.time le_10ms one_collection background": 30e-3, "otelgc.request.time le_1ms none": 1e-3,
		"otelgc.request.stall.time le_10ms gc.pause": 9e-3, "otelgc.request.stall.time le_10ms unseen": 21e-3,
		"otelgc.request.stall.time le_1ms unseen":                  1e-3,
		"otelgc.requests le_5ms several_collections full_blocking": 1, "otelgc.request.time le_5ms several_collections full_blocking": 5e-3,
		"otelgc.request.stall.time le_5ms gc.pause": 2e-3, "otelgc.request.stall.time le_5ms unseen": 3e-3,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 2e-6)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if got := str(t, rm.Resource().Attributes(), "service.name"); got != "shop" {
		t.Errorf("service: got %s", got)
	}
}

// TestCountAttached: with that option, requests of a process that can count them
// itself are left to it.
func TestCountAttached(t *testing.T) {
	for name, x := range map[string]struct {
		source stall.Origin
		own    bool
		want   int
	}{
		"attached":           {stall.Dotnet, false, 1},
		"otelgc inside":      {stall.GCWatch, false, 0},
		"charges of its own": {stall.Dotnet, true, 0},
	} {
		s, a, c := newSender(), New(Config{Count: CountAttached}), new(catcher)
		a.Learn(s.status(x.source, 101*sec))
		td := s.span(100*sec, 100*sec+10*ms)
		if x.own {
			td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr(semconv.AttrFidelity, "exact")
		}
		a.Hold(td, c.sink(), start)
		a.Flush()
		n := 0
		if md, ok := summed(a, start, start); ok {
			n = int(md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0).IntValue())
		}
		if n != x.want || len(c.spans) != 1 {
			t.Errorf("%s: %d requests counted, %d spans went on; want %d and 1", name, n, len(c.spans), x.want)
		}
	}
}
