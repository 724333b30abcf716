package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// carrier is who carries a window, as far as it is settled.
type carrier struct {
	goroutine uint64   // 0 if it is not known
	children  []child  // that have joined and not left
	overflow  overflow // those that do not count
}

// blank returns one that is not known, with the same memory.
func (by *carrier) blank() carrier {
	return carrier{children: by.children[:0], overflow: overflow{past: by.overflow.past[:0]}}
}

// follow adds the states of the goroutine that carried the window, and what the
// collector and the scheduler did to it: before the handler began too, for
// while the goroutine that is to serve the request waits for a P, so does the
// request. The window had slot during had; by is who carried it before.
func (b *traceStore) follow(e *stall.Evidence, w *stall.Window, slot int16, had stall.Span, by *carrier) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by.goroutine == 0 {
		had := stall.Span{Start: had.Start.Add(-b.error), End: had.End.Add(b.error)}
		if by.goroutine = b.goroutineOf(slot, had); by.goroutine == 0 {
			return
		}
	}
	s := w.Extent()
	for _, c := range b.live {
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		for t := c.track(by.goroutine, s); t.next(); {
			e.Track = appendState(e.Track, t.start, t.end, t.state.state)
			e.Own = appendOwn(e.Own, &t.state, t.span(), c.workers)
			if b.oneP && t.network {
				before := stall.Span{Start: s.Start, End: w.Start}
				e.Own = appendUnpolled(e.Own, t.span().Clip(before), c.workers)
			}
		}
		for _, r := range c.assistsOf(by.goroutine, s) {
			e.Own = append(e.Own, r.interval())
		}
		e.Own = c.appendSelfStops(e.Own, by.goroutine, s)
	}
	if b.slots != nil {
		if n, ok := b.slots.leftUnmarked(slot, had.Start); ok {
			by.overflow.quiet = n
		}
	}
	b.followChildren(e, slot, stall.Span{Start: max(had.Start, w.Start), End: w.End}, by)
	slices.SortFunc(e.Own, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
}

// goroutineOf returns who carried the window that held slot during s, by its
// newest mark, or 0.
func (b *traceStore) goroutineOf(slot int16, s stall.Span) uint64 {
	for _, c := range slices.Backward(b.live) {
		if c.span.End < s.Start || c.span.Start > s.End {
			continue
		}
		if g, ok := c.marks.goroutineOf(slot, s); ok {
			return g
		}
	}
	return 0
}
