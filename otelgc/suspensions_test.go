package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

func TestSuspensionsAreToldOnce(t *testing.T) {
	at := second + 100e6
	v := stall.Interval{Start: at, End: at + 20_000, Slack: 10 * time.Millisecond, Cause: stall.RuntimeSuspension}
	exact := gotrace.Stop{Span: stall.Span{Start: at + 1000, End: at + 22_000}, Reason: "read mem stats"}
	for _, c := range []struct {
		name       string
		start, end stall.Instant // of what was watched
		stops      []gotrace.Stop
		want       int // told by the watcher
	}{
		{"not watched", 0, 0, nil, 1},
		{"watched", second, 2 * second, []gotrace.Stop{exact}, 0},
		{"watched in part, and seen", at - 1000, 2 * second, []gotrace.Stop{exact}, 0},
		{"watched in part, and not seen", at + 1e6, 2 * second, nil, 1},
	} {
		b := newTraceStore(second, stall.Clock{})
		s := &suspensions{store: b}
		s.hold([]stall.Interval{v})
		told := 0
		yield := func(stall.Interval) { told++ }
		s.settle(at, yield)
		if told != 0 {
			t.Errorf("%s: told before the exact source had passed", c.name)
		}
		if got, want := s.told(), v.Start.Add(-v.Slack); got != want {
			t.Errorf("%s: told up to %d while it waits, want %d", c.name, got, want)
		}
		if c.end != 0 {
			b.learn(&gotrace.Generation{Span: stall.Span{Start: c.start, End: c.end}, Stops: c.stops}, nil)
		}
		b.learnUnseen(3 * second)
		s.settle(3*second, yield)
		s.settle(4*second, yield)
		if told != c.want {
			t.Errorf("%s: told %d times, want %d", c.name, told, c.want)
		}
		if got := s.told(); got < 4*second {
			t.Errorf("%s: told up to %d when nothing waits", c.name, got)
		}
	}
}

// TestSuspensions: who calls with the index of the last one has each once, and is
// told how many are kept no longer.
func TestSuspensions(t *testing.T) {
	p := play(t)
	const more = 10
	for i := range stall.Instant(keptSuspensions + more) {
		at := second + i*1000
		p.tellUnknown(stall.Interval{Start: at, End: at + 500, Cause: stall.RuntimeSuspension})
	}
	list, dropped := p.Suspensions(3)
	if len(list) != keptSuspensions || dropped != more-3 || list[0].Index != more+1 || list[0].Start != second+more*1000 {
		t.Fatalf("%d of %d dropped, the first is %+v", dropped, len(list), list[0])
	}
	last := list[len(list)-1]
	if last.Index != keptSuspensions+more || last.Reason != "unknown" || last.Fidelity != stall.Cycle {
		t.Errorf("the last is %+v", last)
	}
	if list, dropped := p.Suspensions(last.Index); len(list) != 0 || dropped != 0 {
		t.Errorf("%d more, %d dropped, want none", len(list), dropped)
	}
	p.trace(&gotrace.Generation{
		Span:  stall.Span{Start: 2 * second, End: 3 * second},
		Stops: []gotrace.Stop{{Span: stall.Span{Start: 2*second + 10, End: 2*second + 20}, Reason: "read mem stats", Caller: "main.agent", Entry: "runtime.ReadMemStats"}},
	})
	list, _ = p.Suspensions(last.Index)
	if len(list) != 1 || list[0].Reason != "read mem stats" || list[0].Caller != "runtime.ReadMemStats < main.agent" || list[0].Fidelity != stall.Exact {
		t.Errorf("got %+v, want one with its caller", list)
	}
	if list, dropped := (*Monitor)(nil).Suspensions(0); list != nil || dropped != 0 {
		t.Error("a nil monitor knows of suspensions")
	}
}
