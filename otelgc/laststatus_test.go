package otelgc

import (
	"runtime"
	"testing"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestLastStatus: the last that a source says is of all that it saw, up to the end,
// also where a collection of the last second was still to be told. Otherwise a
// Collector would wait for the rest, and nobody would have watched it.
func TestLastStatus(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			m := startTest(t, WithExactBudget(budget), r)
			if budget > 0 {
				waitMarking(t, m)
			}
			runtime.GC()
			before := m.here.clock.Now()
			shutdown(t, m)
			if len(r.events.of(semconv.EventCollection)) == 0 {
				t.Fatal("no collection was told: nothing is proven")
			}
			for _, source := range []stall.Origin{stall.GCWatch, stall.GoTrace} {
				all := r.events.statuses(source)
				if len(all) == 0 {
					t.Fatalf("no status of %v", source)
				}
				if got := all[len(all)-1][semconv.AttrWatermark].AsInt64(); got < int64(before) {
					t.Errorf("%v: the last watermark is %v before the end", source, before.Sub(stall.Instant(got)))
				}
			}
		})
	}
}
