package attribution

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestDisbelieved: shares of more than the span are nobody's. It is attributed as if
// it had brought none, counted, and counts for its length.
func TestDisbelieved(t *testing.T) {
	for name, host := range map[string]bool{"of a host that is known": true, "of any": false} {
		t.Run(name, func(t *testing.T) {
			s, a, c := newSender(), New(Config{}), new(catcher)
			for range 3 {
				td := s.span(100*sec, 100*sec+10*ms)
				m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
				m.PutStr(semconv.AttrFidelity, "exact")
				m.PutDouble(semconv.App.Key(), wire.LongestSpan.Seconds()-1)
				m.PutDouble(semconv.AttrStallPrefix+"host.steal", wire.LongestSpan.Seconds()-1)
				m.PutDouble(semconv.Unseen.Key(), 0)
				a.Hold(td, c.sink(), start)
			}
			want, fidelity := map[string]float64{"unseen": 10e-3, "coverage": 0}, ""
			if host {
				a.Learn(s.status(stall.GCWatch, 100*sec))
				a.Learn(s.collection(stall.GCWatch, 1, 100*sec+8*ms, 100*sec+9*ms, 0))
				a.Learn(s.status(stall.GCWatch, 101*sec))
				want = map[string]float64{"gc.pause": 1e-3, "unseen": 9e-3, "coverage": 1}
				fidelity = "cycle"
			}
			a.Flush()
			for _, span := range c.spans {
				if diff := cmp.Diff(of(want), floats(span.Attributes()), near); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
				if got := wire.Text(span.Attributes(), semconv.AttrFidelity); got != fidelity {
					t.Errorf("fidelity %q, want %q", got, fidelity)
				}
			}
			if got := a.counted(t); !cmp.Equal(got, 30e-3, near) {
				t.Errorf("the requests count for %v s, want all of their 30 ms", got)
			}
			if got := a.Lost().SpansDisbelieved; got != 3 {
				t.Errorf("%d spans are disbelieved, want 3", got)
			}
		})
	}
}

// TestBelieved: clocks that are being adjusted, and times cut to milliseconds, are
// no reason to disbelieve a process.
func TestBelieved(t *testing.T) {
	for total, want := range map[time.Duration]bool{
		80 * time.Millisecond: true, 90 * time.Millisecond: true, 91 * time.Millisecond: true, 92 * time.Millisecond: false,
	} {
		o := wire.SpanShare{Share: stall.Share{Total: total}}
		if got := o.Believable(80 * time.Millisecond); got != want {
			t.Errorf("shares of %v of a span of 80 ms: believed %v, want %v", total, got, want)
		}
	}
}

// TestOddFigures: what a process said stays, but for a figure that cannot be.
func TestOddFigures(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	td := s.span(100*sec, 100*sec+10*ms)
	m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	m.PutStr(semconv.AttrFidelity, "exact")
	m.PutDouble(semconv.App.Key(), 10e-3)
	m.PutDouble(semconv.Uncertain.Key(), -1)
	m.PutDouble(semconv.Unseen.Key(), math.NaN())
	m.PutStr(semconv.AttrStallPrefix+"sched", "much")
	m.PutDouble(semconv.AttrCoverage, 1.5)
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(td, c.sink(), start)
	a.Flush()
	want := map[string]any{semconv.AttrFidelity: "exact", semconv.App.Key(): 10e-3}
	if diff := cmp.Diff(want, c.spans[0].Attributes().AsRaw()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// TestCarriedTwice: an attribute that comes twice, as no SDK sends it, counts once.
func TestCarriedTwice(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	once := s.span(100*sec, 100*sec+10*ms)
	m := once.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	m.PutStr(semconv.AttrFidelity, "cycle")
	m.PutDouble(semconv.Unseen.Key(), 10e-3)
	m.PutDouble("again", 10e-3)
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(once)
	if err != nil {
		t.Fatal(err)
	}
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(bytes.ReplaceAll(text, []byte("again"), []byte(semconv.Unseen.Key())))
	if err != nil {
		t.Fatal(err)
	}
	a.Hold(td, c.sink(), start)
	a.Flush()
	if got := a.counted(t); !cmp.Equal(got, 10e-3, near) {
		t.Errorf("the request counts for %v s, want 10 ms", got)
	}
}
