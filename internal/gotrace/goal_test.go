package gotrace_test

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
)

// TestNoGoal: with GOGC=off the runtime writes a goal of 0, or in older versions
// what is left of a limit that nobody set. Both are none.
func TestNoGoal(t *testing.T) {
	data := assemble(t, `
@gen 1
@m 1 100
GoStatus dt=0 g=1 m=1 gstatus=2
HeapGoal dt=1 heapgoal_value=4000000
GCBegin dt=1 gc_seq=1 stack=0
GCEnd dt=1 gc_seq=2
HeapGoal dt=1 heapgoal_value=0
GCBegin dt=1 gc_seq=3 stack=0
GCEnd dt=1 gc_seq=4
HeapGoal dt=1 heapgoal_value=8946670875749132534
GCBegin dt=1 gc_seq=5 stack=0
GCEnd dt=1 gc_seq=6
`+reasons+"@end")
	err := all(t, data, gotrace.Options{}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if len(g.Cycles) != 3 {
			t.Fatalf("got %d cycles, want 3", len(g.Cycles))
		}
		if goal, ok := g.Cycles[0].Goal.Get(); !ok || goal != 4_000_000 {
			t.Errorf("goal %d, known %v, want 4000000", goal, ok)
		}
		for _, c := range g.Cycles[1:] {
			if goal, ok := c.Goal.Get(); ok {
				t.Errorf("goal %d, want none", goal)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
