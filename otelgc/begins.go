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

	near []stall.Instant // of the window that is counted
}

// met is how many collections delayed a window, as far as it is settled. They
// come one after the other, so the only one that two pieces may share is the
// last of the first.
type met struct{ exact, cycle distinct }

func (m *met) n() int { return m.exact.n + m.cycle.n }

// last returns when the last of them began.
func (m *met) last() stall.Instant { return max(m.exact.last, m.cycle.last) }

type distinct struct {
	n    int
	last stall.Instant // when the last of them began
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

// count adds to what a window has met the collections that delayed it, or the
// piece w of it. With exact evidence a pause in which the goroutine was parked or
// ran did not. In cycle fidelity the place of a pause may be in doubt: it counts if
// any of it is certain to lie in w, which is what the join charges.
func (b *begins) count(w *stall.Window, e *stall.Evidence, m *met) {
	b.mu.Lock()
	defer b.mu.Unlock()
	extent := w.Extent()
	pauses := func(exact bool) {
		for i := range e.Process {
			v := &e.Process[i]
			if v.Cause == stall.GCPause && (v.Origin == stall.GoTrace) == exact && delays(w, e, part(v, extent)) {
				b.near = append(b.near, v.Start)
			}
		}
	}
	b.near = b.near[:0]
	pauses(true)
	for i := range e.Own {
		if v := &e.Own[i]; v.Cause.IsGC() && !v.Span().Clip(extent).Empty() {
			b.near = append(b.near, v.Start)
		}
	}
	m.exact.add(b.exact, b.near)
	b.near = b.near[:0]
	pauses(false)
	m.cycle.add(b.cycle, b.near)
}

// part returns the part of a pause that counts as of the extent. What the trace saw
// is off by tens of nanoseconds, so that its place is not in doubt.
func part(v *stall.Interval, extent stall.Span) stall.Span {
	if v.Origin == stall.GoTrace {
		return v.Span().Clip(extent)
	}
	return v.Certain(extent)
}

// add counts the collections that were under way at the instants of a piece.
func (d *distinct) add(begun, at []stall.Instant) {
	slices.Sort(at)
	for _, t := range at {
		i, found := slices.BinarySearch(begun, t)
		if !found {
			i--
		}
		began := stall.Instant(1) // before the first that is remembered
		if i >= 0 {
			began = begun[i]
		}
		if began > d.last {
			d.n, d.last = d.n+1, began
		}
	}
}

// delays reports whether the join charges any of a pause, of which s lies in the
// window: not where the goroutine was parked or ran, between the window's start
// and its end. Its own pauses are counted as its own.
func delays(w *stall.Window, e *stall.Evidence, s stall.Span) bool {
	if s.Empty() || s.Start < w.Start || s.End > w.End {
		return !s.Empty()
	}
	at := s.Start
	for i := range e.Track {
		t := &e.Track[i]
		if t.Start > at || at >= s.End {
			break
		}
		if t.State == stall.StateParked || t.State == stall.StateRunning {
			at = max(at, t.End)
		}
	}
	return at < s.End
}
