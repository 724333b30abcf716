package otelgc

import (
	"iter"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestPulledWindow: work that is pulled from an iterator is the window's, as if it
// had been called: it is never parked by its own doing.
func TestPulledWindow(t *testing.T) {
	skipIfTraced(t)
	var got shares
	m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
	waitMarking(t, m)
	until(t, "a window that was seen whole", func() bool {
		w := m.Begin(t.Context())
		next, stop := iter.Pull(func(yield func(int) bool) {
			for i := 0; yield(i); i++ {
				garbage(2000)
			}
		})
		for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
			next()
		}
		stop()
		w.End()
		flush(t, m)
		r := got.all[len(got.all)-1]
		if r.s.Fidelity != stall.Exact {
			return false
		}
		// Where the heap grows over its trigger it may wait for who collects.
		if r.s.App > r.s.Total/2 || r.s.AppOrHost == 0 {
			t.Errorf("a window that only works: %+v", r.s)
		}
		return true
	})
}
