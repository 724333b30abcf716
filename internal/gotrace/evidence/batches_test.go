package evidence

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestBatchesAreBounded: the stops of a collection that has ended are forgotten.
func TestBatchesAreBounded(t *testing.T) {
	b := NewBatches(second)
	for i := range stall.Instant(20) {
		g := &gotrace.Generation{Span: stall.Span{Start: (i + 1) * second, End: (i + 2) * second}}
		for k := range stall.Instant(500) {
			at := g.Start + k*1e6
			first, last := stall.Span{Start: at, End: at + 10}, stall.Span{Start: at + 20, End: at + 30}
			g.Stops = append(g.Stops,
				gotrace.Stop{Span: first, GC: true, Phase: gc.SweepTermination}, gotrace.Stop{Span: last, GC: true, Phase: gc.MarkTermination})
			g.Cycles = append(g.Cycles, gotrace.Cycle{Begin: at + 1, End: at + 29})
		}
		b.Begin()
		b.Learn(g)
		if n := len(b.Batch.Collections); n != 500 {
			t.Fatalf("%d collections, want 500", n)
		}
	}
	if n := len(b.pauses); n > 3 {
		t.Errorf("%d stops of one collection are kept", n)
	}
}
