package otelgc

import (
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// excess is by how much the exact pauses of collections are longer than the
// runtime's own. A traced stop begins before the runtime's own figure does and
// ends after it, so it is never shorter by more than the trace's clock can be off.
// That is arithmetic, and holds on any machine; by how much it is longer is not,
// and is only logged.
type excess struct {
	runtime map[uint64]time.Duration // pauses by index
	after   uint64                   // the index of the last collection that was compared
	window  []time.Duration          // from EvSTWBegin to EvSTWEnd: never shorter than the runtime's
	longer  []time.Duration          // until others run again: shorter where the runtime's own is late
}

// collect forces collections, few enough at a time for the runtime to remember them.
func (e *excess) collect(n, procs int) {
	const remembered = 50 // each call of runtime.GC may begin more than one
	for ; n > 0; n -= remembered {
		collect(min(n, remembered), procs)
		var s debug.GCStats
		debug.ReadGCStats(&s)
		for i, d := range s.Pause {
			e.runtime[uint64(s.NumGC)-uint64(i)] = d
		}
	}
}

// compare takes the exact collections that were settled since the last call, and
// returns how many there have been.
func (e *excess) compare(m *Monitor) int {
	list, _ := m.Collections(e.after)
	for i := range list {
		c := &list[i]
		e.after = c.Index
		runtime, ok := e.runtime[c.Index]
		if !ok || c.Fidelity != stall.Exact {
			continue
		}
		window := -runtime
		for _, p := range c.Pauses {
			window += p.EndMax.Sub(p.Start)
		}
		e.window = append(e.window, window)
		e.longer = append(e.longer, c.PauseTotal()-runtime)
	}
	return len(e.longer)
}

func (e *excess) check(t *testing.T) {
	t.Helper()
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
