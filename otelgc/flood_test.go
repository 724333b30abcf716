package otelgc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
)

// flooded counts the generations with more changes of state than there is room
// for, all of goroutines that nobody follows but for a few.
type flooded struct {
	exact.Observer
	limit int
	whole atomic.Int64 // those whose tracks are there all the same
}

func (f *flooded) Generation(g *gotrace.Generation) {
	if g.Events > int64(2*f.limit) && g.Lost.Transitions == 0 && len(g.Tracks) > 0 {
		f.whole.Add(1)
	}
	f.Observer.Generation(g)
}

// TestFloodOfYields: a program that yields all the time, as runtime.GC does while
// it sweeps, costs nobody else the states of his goroutine.
func TestFloodOfYields(t *testing.T) {
	skipIfTraced(t)
	f := flooded{limit: 1 << 14}
	m := startTest(t, WithExactBudget(1), seam(func(m *Monitor) {
		m.exact.Limits.Transitions = f.limit
		f.Observer, m.exact.Observer = m.exact.Observer, &f
	}))
	waitMarking(t, m)
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !over.Load() {
			runtime.Gosched()
		}
	}()
	defer func() {
		over.Store(true)
		<-done
	}()
	until(t, "generations that are flooded and have their tracks", func() bool {
		waitMarking(t, m)
		w := m.Begin(t.Context())
		w.End()
		time.Sleep(50 * time.Millisecond)
		turnover(t, m)
		return f.whole.Load() >= 2
	})
}
