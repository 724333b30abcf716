package otelgc

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// TestExactPausesAgainstTheRuntime: a traced stop begins before the runtime's
// own figure does and ends after it, so it is never shorter by more than the
// trace's clock can be off. That is arithmetic, and holds on any machine; by how
// much it is longer is not, and is only logged.
func TestExactPausesAgainstTheRuntime(t *testing.T) {
	skipIfTraced(t)
	m := startTest(t, WithExactBudget(1))
	var mu sync.Mutex
	var longer []time.Duration
	m.reconciler.mu.Lock()
	m.reconciler.checked = func(c *gc.Collection, runtime time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		longer = append(longer, c.PauseTotal()-runtime)
	}
	m.reconciler.mu.Unlock()
	waitForSlice(t, m)
	const cycles = 1000
	until(t, "so many exact cycles", func() bool {
		for range 20 {
			runtime.GC()
		}
		mu.Lock()
		defer mu.Unlock()
		return len(longer) >= cycles
	})
	shutdown(t, m)
	slices.Sort(longer)
	n := len(longer)
	if least := longer[0]; least < -time.Microsecond {
		t.Errorf("the windows of a cycle sum to %v less than the runtime's pauses", -least)
	}
	t.Logf("%d cycles, traced minus runtime: min %v p50 %v p90 %v p99 %v max %v",
		n, longer[0], longer[n/2], longer[n*9/10], longer[n*99/100], longer[n-1])
}
