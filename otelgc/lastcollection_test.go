package otelgc

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestLastCollectionIsTheRuntimes: a window names the last collection that delayed it by
// the runtime's index, whichever fidelity knows of it.
func TestLastCollectionIsTheRuntimes(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // only those of this test
			var got shares
			m := startTest(t, WithExactBudget(budget), WithOnWindow(got.add))
			if budget > 0 {
				skipIfTraced(t)
				waitMarking(t, m)
			}
			type pair struct{ before, after uint64 } // of the count of collections
			var want []pair
			settled := func() int {
				got.mu.Lock()
				defer got.mu.Unlock()
				return len(got.all)
			}
			until(t, "a window with an index", func() bool {
				for range 20 {
					p := pair{before: cyclesTotal()}
					w := m.Begin(context.Background())
					runtime.GC()
					w.End()
					p.after = cyclesTotal()
					want = append(want, p)
				}
				settle(t, m)
				return settled() == len(want) && len(want) >= 200
			})
			got.mu.Lock()
			defer got.mu.Unlock()
			indexed, exact := 0, 0
			for i, r := range got.all {
				if r.s.Fidelity == stall.Exact {
					exact++
				}
				switch last := r.s.LastCollection; {
				case last == 0 || last>>63 == 1: // none for certain, or its index is not known
				case last <= want[i].before || last > want[i].after:
					t.Errorf("window %d: the last collection is %d, the runtime counted from %d to %d", i, last, want[i].before, want[i].after)
				default:
					indexed++
				}
			}
			t.Logf("%d windows, %d exact, %d with an index", len(want), exact, indexed)
			if indexed == 0 {
				t.Error("no window has an index")
			}
		})
	}
}
