package otelgc

import (
	"slices"
	"sync"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// keptBegins is how many collections each source is remembered to have begun.
const keptBegins = 4096

// begins holds when collections began, so that the pauses of one collection that
// fall into one window count as one. Two collections never share a stop in Go:
// the next cycle begins with a stop of its own.
type begins struct {
	mu           sync.Mutex
	exact, cycle []stall.Instant // in order

	inExact, inCycle distinct // of the window that is counted
}

// addExact takes a stop for the collector: each cycle begins with the one that
// terminates the sweep of the cycle before.
func (b *begins) addExact(s *exactStop) {
	if s.phase == gc.SweepTermination {
		b.add(&b.exact, s.Start)
	}
}

// addCycle takes the pauses of one collection as cycle fidelity knows them.
func (b *begins) addCycle(pauses []gc.Pause) {
	if len(pauses) > 0 {
		b.add(&b.cycle, pauses[0].Start)
	}
}

func (b *begins) add(to *[]stall.Instant, t stall.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(*to); n >= 2*keptBegins {
		*to = slices.Delete(*to, 0, n-keptBegins)
	}
	*to = append(*to, t)
}

// count returns how many collections delayed a window that the collector
// delayed: at least one. With exact evidence a pause in which the goroutine was
// parked did not.
func (b *begins) count(w *stall.Window, e *stall.Evidence) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	extent := w.Extent()
	exact, cycle := &b.inExact, &b.inCycle
	exact.reset()
	cycle.reset()
	for i := range e.Process {
		v := &e.Process[i]
		if v.Cause != stall.GCPause || v.Span().Clip(extent).Empty() || asleepIn(e.Track, v.Span().Clip(extent)) {
			continue
		}
		if v.Source == stall.GoTrace {
			exact.see(b.exact, v.Start)
		} else {
			cycle.see(b.cycle, v.Start)
		}
	}
	for i := range e.Own {
		if v := &e.Own[i]; v.Cause.IsGC() && !v.Span().Clip(extent).Empty() {
			exact.see(b.exact, v.Start)
		}
	}
	return max(1, exact.n()+cycle.n())
}

// distinct counts distinct collections. There are few per window.
type distinct struct{ seen []int }

func (c *distinct) reset() { c.seen = c.seen[:0] }

// see counts the collection that was under way at t.
func (c *distinct) see(begun []stall.Instant, t stall.Instant) {
	i, found := slices.BinarySearch(begun, t)
	if !found {
		i--
	}
	if !slices.Contains(c.seen, i) {
		c.seen = append(c.seen, i)
	}
}

func (c *distinct) n() int { return len(c.seen) }

// asleepIn reports whether the goroutine was parked throughout s.
func asleepIn(track []stall.StateSpan, s stall.Span) bool {
	for i := range track {
		t := &track[i]
		if t.Start >= s.End {
			return false
		}
		if t.State == stall.StateParked && t.Start <= s.Start && s.End <= t.End {
			return true
		}
	}
	return false
}
