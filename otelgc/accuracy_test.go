package otelgc

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// excess is by how much the exact pauses of collections are longer than the
// runtime's own. A traced stop begins before the runtime's own figure does and
// ends after it, so it is never shorter by more than the trace's clock can be off.
// That is arithmetic, and holds on any machine; by how much it is longer is not,
// and is only logged.
type excess struct {
	mu     sync.Mutex
	window []time.Duration // from EvSTWBegin to EvSTWEnd: never shorter than the runtime's
	longer []time.Duration // until others run again: shorter where the runtime's own is late
}

// watch collects from now on.
func (e *excess) watch(m *Monitor) {
	m.reconciler.mu.Lock()
	defer m.reconciler.mu.Unlock()
	m.reconciler.checked = func(c *gc.Collection, runtime time.Duration) {
		e.mu.Lock()
		defer e.mu.Unlock()
		window := -runtime
		for _, p := range c.Pauses {
			window += p.EndMax.Sub(p.Start)
		}
		e.window = append(e.window, window)
		e.longer = append(e.longer, c.PauseTotal()-runtime)
	}
}

func (e *excess) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.longer)
}

func (e *excess) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for what, list := range map[string][]time.Duration{"windows": e.window, "pauses": e.longer} {
		list = slices.Sorted(slices.Values(list))
		n := len(list)
		if least := list[0]; what == "windows" && least < -time.Microsecond {
			t.Errorf("the windows of a cycle sum to %v less than the runtime's pauses", -least)
		}
		t.Logf("%d cycles, traced %s minus runtime: min %v p50 %v p90 %v p99 %v max %v",
			n, what, list[0], list[n/2], list[n*9/10], list[n*99/100], list[n-1])
	}
}
