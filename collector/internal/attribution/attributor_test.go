package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

var near = cmpopts.EquateApprox(0, 1e-9)

// TestCharges: a pause in the midst of a span is charged, and the rest unseen;
// the span goes on as soon as every source has passed it.
func TestCharges(t *testing.T) {
	s, a, c := newSender(), New(Config{SlowSpan: 5 * time.Millisecond}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.Hold(s.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
	a.Tick(start)
	if len(c.spans) != 0 {
		t.Fatal("the span went on before its source had passed it")
	}
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+12*ms, 100*sec+15*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Tick(start)
	if len(c.spans) != 1 {
		t.Fatalf("got %d spans, want 1", len(c.spans))
	}
	want := map[string]float64{
		"otelgc.stall.gc.pause": 3e-3, "otelgc.stall.unseen": 7e-3, "otelgc.stall.coverage": 1,
	}
	got := floats(c.spans[0].Attributes())
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if got := total(got); !cmp.Equal(got, 10e-3, near) {
		t.Errorf("sum of the owners: got %v, want 10 ms", got)
	}
	if got := str(t, c.spans[0].Attributes(), semconv.AttrGCOverlap); got != "one_collection" {
		t.Errorf("overlap: got %s", got)
	}
	if len(c.slow) != 1 || str(t, c.slow[0].Attributes(), semconv.AttrSentence) == "" {
		t.Errorf("got %d events of slow spans, want one with a sentence", len(c.slow))
	}
	if diff := cmp.Diff(Lost{}, a.Lost(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}

func total(m map[string]float64) (all float64) {
	for k, v := range m {
		if k != semconv.AttrCoverage {
			all += v
		}
	}
	return all
}

// TestNobodyWatched: spans of a host without a status, and of a process that
// nobody watches, wait their time and have coverage 0.
func TestNobodyWatched(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Tick(start.Add(9 * time.Second))
	if len(c.spans) != 0 {
		t.Fatal("the span did not wait for a status that may be late")
	}
	a.Tick(start.Add(10 * time.Second))
	other := *s
	other.pid = 43
	a.Learn(other.status(stall.GCWatch, 120*sec))
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Tick(start.Add(10 * time.Second))
	if len(c.spans) != 2 {
		t.Fatalf("got %d spans, want 2", len(c.spans))
	}
	want := map[string]float64{"otelgc.stall.unseen": 10e-3, "otelgc.stall.coverage": 0}
	for i, span := range c.spans {
		if diff := cmp.Diff(want, floats(span.Attributes()), near); diff != "" {
			t.Errorf("span %d (-want +got):\n%s", i, diff)
		}
		for _, claim := range []string{semconv.AttrGCOverlap, semconv.AttrFidelity} {
			if v, ok := span.Attributes().Get(claim); ok {
				t.Errorf("span %d: %s %q, want nothing said", i, claim, v.Str())
			}
		}
	}
	for _, key := range a.series(start) {
		if strings.Contains(key, semconv.AttrGCOverlap) || strings.Contains(key, semconv.AttrFidelity) {
			t.Errorf("a series %s of requests that nobody watched", key)
		}
	}
	if got := requested(a); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
	if got := a.Lost().SpansUnknown; got != 2 {
		t.Errorf("unknown spans: got %d, want 2", got)
	}
}

// series returns what the sums are counted by, in words.
func (a *Attributor) series(now time.Time) (all []string) {
	md, _ := summed(a, start, now)
	for _, rm := range md.ResourceMetrics().All() {
		for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
			for _, p := range metric.Sum().DataPoints().All() {
				all = append(all, fmt.Sprint(metric.Name(), " ", p.Attributes().AsRaw()))
			}
		}
	}
	return all
}

// TestKnownAlthoughUnwatched: a pause that is known of a time that nobody watched is
// told, and so is what the machine took, of which it says nothing.
func TestKnownAlthoughUnwatched(t *testing.T) {
	for name, x := range map[string]struct {
		told func(*sender) plog.Logs
		want string
	}{
		"a pause": {func(s *sender) plog.Logs { return s.collection(stall.GCWatch, 1, 90*sec+2*ms, 90*sec+5*ms, 0) }, "one_collection"},
		"a gap of the machine": {func(s *sender) plog.Logs {
			return s.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, 90*sec+2*ms, 90*sec+5*ms)
		}, ""},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(x.told(s))
		a.Learn(s.status(stall.GCWatch, 101*sec)) // the first
		a.Learn(s.status(stall.ProbeSpin, 101*sec))
		td := s.span(90*sec, 90*sec+10*ms)
		m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		m.PutStr(semconv.AttrFidelity, "exact") // of charges that cannot be
		m.PutStr(semconv.AttrGCOverlap, "none")
		m.PutDouble(semconv.App.Key(), 3600)
		a.Hold(td, c.sink(), start)
		a.Flush()
		attrs := c.spans[0].Attributes()
		if got := wire.Text(attrs, semconv.AttrGCOverlap); got != x.want || floats(attrs)[semconv.AttrCoverage] != 0 || (wire.Text(attrs, semconv.AttrFidelity) == "") != (x.want == "") {
			t.Errorf("%s: %v, want overlap %q and coverage 0", name, attrs.AsRaw(), x.want)
		}
	}
}

// TestOverTheLimit: a span that finds no room goes on at once, as it came.
func TestOverTheLimit(t *testing.T) {
	s, a, c := newSender(), New(Config{MaxSpans: 2}), new(catcher)
	for range 5 {
		a.Hold(s.span(100*sec, 100*sec+ms), c.sink(), start)
	}
	if len(c.spans) != 3 || len(floats(c.spans[0].Attributes())) != 0 {
		t.Fatalf("got %d spans at once, want 3 without attributes of ours", len(c.spans))
	}
	a.Flush()
	if got := a.Lost().SpansOverLimit; len(c.spans) != 5 || got != 3 {
		t.Errorf("got %d spans in all and %d over the limit, want 5 and 3", len(c.spans), got)
	}
	if spans, bytes := a.Held(); spans != 0 || bytes != 0 {
		t.Errorf("held after all: %d spans, %d bytes", spans, bytes)
	}
}

// TestScopes: what a probe saw of one CPU is charged to nobody, what the whole
// machine suffered to everybody, what a target did to that process alone.
func TestScopes(t *testing.T) {
	for _, x := range []struct {
		scope  stall.Scope
		source stall.Origin
		pid    int64
		want   float64
	}{
		{stall.ScopeCPU, stall.ProbeSpin, 42, 0},
		{stall.ScopeMachine, stall.ProbePeriodic, 42, 5e-3},
		{stall.ScopeTarget, stall.TargetWatch, 42, 5e-3},
		{stall.ScopeTarget, stall.TargetWatch, 43, 0},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(s.status(stall.GCWatch, 101*sec))
		other := *s
		other.pid = x.pid
		a.Learn(other.gap(x.source, stall.HostUnknown, x.scope, 100*sec+ms, 100*sec+6*ms))
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.host.unknown"]; !cmp.Equal(got, x.want, cmpopts.EquateApprox(0, 2e-6)) {
			t.Errorf("%v of %v of process %d: got %v, want %v", x.scope, x.source, x.pid, got, x.want)
		}
	}
}

// TestBounded: however many hosts, processes and services send, no more are kept
// than the configuration says.
func TestBounded(t *testing.T) {
	a, c := New(Config{MaxHosts: 8, MaxProcesses: 16, MaxServices: 4}), new(catcher)
	s := newSender()
	for i := range 5000 {
		s.boot, s.pid = "host "+time.Duration(i%500).String(), int64(i)
		s.with = map[string]string{"container.id": time.Duration(i).String(), "service.name": time.Duration(i).String()}
		a.Learn(s.status(stall.GCWatch, 100*sec))
		td := s.span(99*sec, 99*sec+ms)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", time.Duration(i).String())
		a.Hold(td, c.sink(), start)
		a.Tick(start.Add(time.Hour))
	}
	if h, p, n := len(a.known.hosts), a.known.processes, len(a.known.index); h > 8 || p > 16 || n > 32 {
		t.Errorf("kept %d hosts, %d processes, %d links; want at most 8, 16, 32", h, p, n)
	}
	if md, _ := summed(a, start, start); md.ResourceMetrics().Len() > 5 {
		t.Errorf("kept %d services, want at most 4 and one for the others", md.ResourceMetrics().Len())
	}
	if l := a.Lost(); l.Events["limit"] == 0 || len(c.spans) != 5000 {
		t.Errorf("lost %+v and %d spans went on; want hosts refused and all 5000 spans", l, len(c.spans))
	}
}
