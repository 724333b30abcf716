package otelgc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestHeldIsBounded: what nobody settles, since a function of the program's hangs the
// loop, does not pile up. The oldest go, counted, and the newest stay.
func TestHeldIsBounded(t *testing.T) {
	const over, each = 10, 2
	r, s := reconciler{store: newTraceStore(1, stall.Clock{})}, suspensions{}
	for i := range uint64(mostHeld/each + over) {
		at := stall.Instant(i + 1)
		r.hold([]gc.Collection{
			{Index: each * i, Cycles: 1, Start: gc.Known(at), End: gc.Known(at)},
			{Index: each*i + 1, Cycles: 1, Start: gc.Known(at), End: gc.Known(at)},
		}, []gcwatch.Bucket{{Count: 1}})
		v := stall.Interval{Start: at, End: at, Cause: stall.RuntimeSuspension}
		s.hold([]stall.Interval{v, v})
	}
	if diff := cmp.Diff([]int{mostHeld, mostHeld}, []int{len(r.held), len(s.held)}); diff != "" {
		t.Errorf("collections and stops that are held (-want +got):\n%s", diff)
	}
	lost := stall.Span{Start: 1, End: over}
	for name, f := range map[string]loss{"collections": r.takeLost(), "stops": s.takeLost()} {
		if f.n != each*over || f.Span != lost {
			t.Errorf("%s: %d are lost, in %v, want %d, in %v", name, f.n, f.Span, each*over, lost)
		}
	}
	if r.takeLost().n+s.takeLost().n != 0 {
		t.Error("what is lost is told twice")
	}
	if first := r.held[0].Index; first != each*over {
		t.Errorf("the oldest that is held is %d, want %d", first, each*over)
	}
}
