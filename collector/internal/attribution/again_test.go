package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestPidAgain: spans that begin after whoever had their pid fell silent are of
// somebody else, unless more than the pid says who they are of. Nobody waits for the
// one that has ended.
func TestPidAgain(t *testing.T) {
	const created = "2026-11-21T10:00:00.25Z"
	for name, x := range map[string]struct {
		with    m     // of events and spans
		at      int64 // of the span
		unknown bool
		counted int64 // of those without otelgc inside
	}{
		"while it lived":       {nil, 100 * sec, false, 0},
		"a moment later":       {nil, 103 * sec, false, 0},
		"fifty seconds later":  {nil, 150 * sec, true, 1},
		"made at the time":     {m{"process.creation.time": created}, 150 * sec, false, 0},
		"of the same instance": {m{"service.instance.id": "x"}, 150 * sec, false, 0},
	} {
		s, probe, a, c := newSender(), newSender(), New(Config{Count: CountAttached}), new(catcher)
		s.with, probe.pid = x.with, 77
		cgroups := s.status(stall.GCWatch, 101*sec)
		attributes(cgroups).PutEmptySlice(semconv.AttrCgroupIDs).AppendEmpty().SetInt(5)
		a.Learn(s.status(stall.GCWatch, 99*sec))
		a.Learn(cgroups)
		gap := probe.gap(stall.ProbePeriodic, stall.HostThrottled, stall.ScopeCgroup, x.at+ms, x.at+2*ms)
		attributes(gap).PutInt(semconv.AttrCgroupID, 5)
		a.Learn(gap)
		a.Learn(probe.status(stall.ProbePeriodic, 99*sec))
		for at := 100 * sec; at <= 160*sec; at += sec {
			a.Learn(probe.status(stall.ProbePeriodic, at))
		}
		a.Hold(s.span(x.at, x.at+5*ms), c.sink(), start)
		a.Tick(start)
		// That it has fallen silent by now only the time says that the span has waited.
		if a.Tick(start.Add(2 * time.Duration(senders.SilentAfter))); len(c.spans) != 1 {
			t.Fatalf("%s: the span waits for one that has ended", name)
		}
		throttled := floats(c.spans[0].Attributes())["otelgc.stall.host.throttled"] > 0
		if got := a.Lost().SpansUnknown > 0; got != x.unknown || throttled == x.unknown || requested(a) != x.counted {
			t.Errorf("%s: unknown %v, charged with its cgroup's gap %v, %d requests; want %v, %v, %d", name, got, throttled, requested(a), x.unknown, !x.unknown, x.counted)
		}
	}
}

// TestTargetAgain: nor has it what the machine did to who had the pid.
func TestTargetAgain(t *testing.T) {
	for at, unknown := range map[int64]bool{100 * sec: false, 150 * sec: true} {
		s, probe, a, c := newSender(), newSender(), New(Config{}), new(catcher)
		probe.pid = 77
		status := s.status(stall.TargetWatch, 101*sec)
		attributes(status).PutInt(semconv.AttrTargetPID, 42)
		a.Learn(status)
		for told := 99 * sec; told <= 160*sec; told += sec {
			a.Learn(probe.status(stall.ProbePeriodic, told))
		}
		a.Hold(s.span(at, at+5*ms), c.sink(), start)
		a.Flush()
		if got := a.Lost().SpansUnknown > 0; got != unknown {
			t.Errorf("a span at %d s: unknown %v, want %v", at/sec, got, unknown)
		}
	}
}

// TestContestedLooksSeldom: spans that may be of several look again once a second and
// when they go on, not at every tick.
func TestContestedLooksSeldom(t *testing.T) {
	a, c := New(Config{}), new(catcher)
	for i := range 2 {
		s := newSender()
		s.boot, s.with = fmt.Sprint(i), m{"host.name": "localhost"}
		a.Learn(s.status(stall.Dotnet, 101*sec))
	}
	s := newSender()
	s.bare, s.with = true, m{"host.name": "localhost"}
	a.Hold(s.span(100*sec, 100*sec+ms), c.sink(), start)
	looks := 0
	for tick := range 50 { // five a second, up to the time at which the span is due
		h := a.held.waiting[0]
		before := h.looked
		a.Tick(start.Add(time.Duration(tick) * time.Second / 5))
		if h.looked != before || tick == 0 {
			looks++
		}
	}
	if a.Tick(start.Add(10 * time.Second)); looks != 10 || a.Lost().SpansAmbiguous != 1 {
		t.Errorf("a span that may be of two looked %d times in ten seconds, lost %+v; want 10 times, ambiguous", looks, a.Lost())
	}
}
