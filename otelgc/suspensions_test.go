package otelgc

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestSuspensions: who calls with the index of the last one has each once, and is
// told how many are kept no longer.
func TestSuspensions(t *testing.T) {
	p := idleMonitor(t)
	const more = 10
	for i := range stall.Instant(kept + more) {
		at := second + i*1000
		p.reportUnknown(stall.Interval{Start: at, End: at + 500, Cause: stall.RuntimeSuspension})
	}
	list, dropped := p.Suspensions(3)
	if len(list) != kept || dropped != more-3 || list[0].Index != more+1 || list[0].Start != second+more*1000 {
		t.Fatalf("%d of %d dropped, the first is %+v", dropped, len(list), list[0])
	}
	last := list[len(list)-1]
	if last.Index != kept+more || last.Reason != "unknown" || last.Fidelity != stall.Cycle {
		t.Errorf("the last is %+v", last)
	}
	if list, dropped := p.Suspensions(last.Index); len(list) != 0 || dropped != 0 {
		t.Errorf("%d more, %d dropped, want none", len(list), dropped)
	}
	observer{p}.Generation(&gotrace.Generation{
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
