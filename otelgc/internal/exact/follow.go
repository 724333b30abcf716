package exact

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// Carrier has the goroutines that carry a window at the end of the piece that was
// followed last. The zero Carrier is that of a window before its first piece.
type Carrier struct {
	goroutine uint64   // 0 if it is not known
	children  []child  // that have joined and not left
	overflow  overflow // those that do not count
}

// Reset makes by the carrier of another window. It keeps the memory.
func (by *Carrier) Reset() {
	*by = Carrier{children: by.children[:0], overflow: overflow{past: by.overflow.past[:0]}}
}

// Follow adds to e what the trace says of a window, or of a piece of one: the states of
// the goroutine that carried it, and what the collector and the scheduler did to that.
// It begins at the arrival of the request: while the goroutine that is to serve it
// waits for a P, so does the request. The window had the slot during had. By is
// brought up to date.
func (b *Store) Follow(e *stall.Evidence, w *stall.Window, slot int16, had stall.Span, by *Carrier) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by.goroutine == 0 {
		had := stall.Span{Start: had.Start.Add(-b.error), End: had.End.Add(b.error)}
		if by.goroutine = b.goroutineOf(slot, had); by.goroutine == 0 {
			return
		}
	}
	s := w.Extent()
	var unpolled stall.Span
	if b.oneP {
		unpolled = stall.Span{Start: s.Start, End: w.Start}
	}
	for _, c := range b.live {
		if c.Span.End <= s.Start || c.Span.Start >= s.End {
			continue
		}
		c.Follow(e, by.goroutine, s, unpolled)
	}
	if n, ok := b.slots.LeftUnmarked(slot, had.Start); ok {
		by.overflow.quiet = n
	}
	b.followChildren(e, slot, stall.Span{Start: max(had.Start, w.Start), End: w.End}, by)
	slices.SortFunc(e.Own, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
}

// goroutineOf returns the goroutine that carried the window which held slot during s,
// by its newest mark, or 0.
func (b *Store) goroutineOf(slot int16, s stall.Span) uint64 {
	for _, c := range slices.Backward(b.live) {
		if c.Span.End < s.Start || c.Span.Start > s.End {
			continue
		}
		if g, ok := c.marks.goroutineOf(slot, s); ok {
			return g
		}
	}
	return 0
}
