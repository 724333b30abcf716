package attribution

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestStampedSpans: a Collector stamps the boot id on spans that have no pid, or
// that of their container: the container names the process.
func TestStampedSpans(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	s.with = m{"container.id": "abc"}
	a.Learn(s.collection(stall.Dotnet, 1, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(s.status(stall.Dotnet, 101*sec))
	td := s.span(100*sec, 100*sec+10*ms)
	td.ResourceSpans().At(0).Resource().Attributes().Remove(semconv.AttrProcessPID)
	a.Hold(td, c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got == 0 {
		t.Error("a span of the container was not charged with the pause of its only process")
	}
}

// TestRebooted: a span that names only the host is of its present boot.
func TestRebooted(t *testing.T) {
	a, c := New(Config{}), new(catcher)
	old, now := newSender(), newSender()
	old.boot, now.boot = "first", "second"
	old.with, now.with = m{"host.name": "n"}, m{"host.name": "n"}
	now.off += 1000 * sec
	a.Learn(old.status(stall.Dotnet, 900*sec))
	a.Learn(now.collection(stall.Dotnet, 1, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(now.status(stall.Dotnet, 101*sec))
	now.bare = true
	a.Hold(now.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Flush()
	attrs := c.spans[0].Attributes()
	if got := floats(attrs)["otelgc.stall.gc.pause"]; got == 0 {
		t.Errorf("charges %v, want the pause of the second boot", floats(attrs))
	}
	if got := str(t, attrs, semconv.AttrBootID); got != "second" {
		t.Errorf("boot id on the span: got %q, want the one that was found", got)
	}
}

// TestBootIDOnSpansOnly: a service that makes its own resource has its boot id
// on the spans that were annotated in process, and all of them are of it.
func TestBootIDOnSpansOnly(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.collection(stall.GCWatch, 1, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	s.bare = true
	annotated := func(boots ...string) int {
		c.spans = nil
		td := s.span(100*sec, 100*sec+10*ms) // without one of its own
		td.ResourceSpans().At(0).Resource().Attributes().Remove(semconv.AttrProcessPID)
		for _, boot := range boots {
			more := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
			more.Attributes().PutStr(semconv.AttrBootID, boot)
			more.Attributes().PutInt(semconv.AttrProcessPID, 42)
		}
		a.Hold(td, c.sink(), start)
		a.Flush()
		if floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0 {
			return 1
		}
		return 0
	}
	if annotated(boot, boot) != 1 {
		t.Error("the spans agree, and the one beside them was not charged")
	}
	if annotated(boot, "another") != 0 {
		t.Error("the spans contradict each other, and one was charged all the same")
	}
}

// TestSharedName: where two machines go by one name, a pid of one of them says
// nothing, also if it is not watched on the other.
func TestSharedName(t *testing.T) {
	for other, want := range map[string]bool{"n": false, "another": true} {
		a, c := New(Config{}), new(catcher)
		s, second := newSender(), newSender()
		s.with, second.with, second.boot = m{"host.name": "n"}, m{"host.name": other}, "second"
		a.Learn(s.collection(stall.Dotnet, 1, 100*sec+ms, 100*sec+4*ms, 0))
		a.Learn(s.status(stall.Dotnet, 101*sec))
		a.Learn(second.status(stall.ProbeSpin, 101*sec))
		s.bare = true
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0; got != want || (a.Lost().SpansAmbiguous > 0) == want {
			t.Errorf("another machine %q: charged %v, lost %+v; want charged %v", other, got, a.Lost(), want)
		}
	}
}

// TestMachineAlone: a process that nobody watches still has what all of its
// machine suffered, by the name that the probes have for it.
func TestMachineAlone(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	s.with = m{"host.name": "node"}
	a.Learn(s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, 100*sec+ms, 100*sec+3*ms))
	a.Learn(s.status(stall.ProbePeriodic, 101*sec))
	s.pid, s.bare = 99, true
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Tick(start.Add(10 * time.Second))
	if got := floats(c.spans[0].Attributes()); got["otelgc.stall.host.steal"] == 0 || got["otelgc.stall.coverage"] != 0 {
		t.Errorf("charges: got %v, want host.steal and coverage 0", got)
	}
}
