package otelgc

import (
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// opened says which window has a slot, for who is not that window: the resolver
// settles what lasts long, and the decoder follows it from slice to slice.
type opened struct {
	held           atomic.Int64 // Instant since when, 0 if it is nobody's; written last
	start, arrival atomic.Int64 // Instants of the window
	ended          atomic.Int64 // Instant by which the window before had ended
	leftUnmarked   atomic.Uint32
}

// openWindow is a window that has not ended, and has a slot. Slot and held name
// it: the slot will be another's later.
type openWindow struct {
	slot           int16
	held           stall.Instant
	start, arrival stall.Instant
}

// publish says whose the slot is, which was taken just now.
func (s *slots) publish(w openWindow) {
	o := &s.opened[w.slot]
	o.start.Store(int64(w.start))
	if o.arrival.Load() != int64(w.arrival) { // a store costs more than a look
		o.arrival.Store(int64(w.arrival))
	}
	if o.leftUnmarked.Load() != 0 {
		o.leftUnmarked.Store(0)
	}
	o.held.Store(int64(w.held))
}

// open appends to dst the windows that have a slot and began before t.
func (s *slots) open(dst []openWindow, t stall.Instant) []openWindow {
	for i := range s.opened {
		o, turn := &s.opened[i], s.turn[i].Load()
		w := openWindow{
			slot: int16(i), held: stall.Instant(o.held.Load()),
			start: stall.Instant(o.start.Load()), arrival: stall.Instant(o.arrival.Load()),
		}
		if w.held != 0 && w.held < t && 0 < w.start && w.start < t && s.turn[i].Load() == turn {
			dst = append(dst, w)
		}
	}
	return dst
}

// stillOpen reports whether the window that left a mark at t has its slot still.
// Who takes a slot does so before it leaves marks.
func (s *slots) stillOpen(slot int16, t stall.Instant) bool {
	held := stall.Instant(s.opened[slot].held.Load())
	return held != 0 && held <= t
}

// endedBy returns by when the window that left a mark at t had ended, if it has.
// T may be off by some error.
func (s *slots) endedBy(slot int16, t stall.Instant, off time.Duration) (stall.Instant, bool) {
	o := &s.opened[slot]
	held, ended := stall.Instant(o.held.Load()), stall.Instant(o.ended.Load())
	switch {
	case held > t.Add(off): // another has the slot
		return held, true
	case held == 0 && ended > 0 && ended >= t.Add(-off): // or else it is just about to say when
		return ended, true
	}
	return 0, false
}

// leave notes that a child left the window while no slice was traced.
func (s *slots) leave(slot int16) { s.opened[slot].leftUnmarked.Add(1) }

// leftUnmarked returns how many children have left while no slice was traced the window
// that has had the slot since then, or false if it has it no longer.
func (s *slots) leftUnmarked(slot int16, held stall.Instant) (int, bool) {
	n := int(s.opened[slot].leftUnmarked.Load())
	return n, stall.Instant(s.opened[slot].held.Load()) == held
}

// childrenKnown reports whether the trace has every leave of the window's
// children.
func (s *slots) childrenKnown(slot int16) bool { return s.opened[slot].leftUnmarked.Load() == 0 }
