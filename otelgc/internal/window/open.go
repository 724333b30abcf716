package window

import (
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// opened says which window has a slot: the resolver settles windows that last long, and
// the decoder follows them from slice to slice.
type opened struct {
	held           atomic.Int64 // Instant since when, 0 if the slot is free; written last
	start, arrival atomic.Int64 // Instants of the window
	ended          atomic.Int64 // Instant by which the window before had ended
	leftUnmarked   atomic.Uint32
}

// Open is a window that has not ended, and has a slot. Slot and held name
// it: the slot will be another's later.
type Open struct {
	Slot           int16
	Held           stall.Instant
	Start, Arrival stall.Instant
}

// Window returns the window as the join takes it, without an end.
func (w Open) Window(p *stall.Place) *stall.Window {
	return &stall.Window{Start: w.Start, Arrival: w.Arrival, Place: p}
}

// Publish names the window that has taken a slot.
func (s *Slots) Publish(w Open) {
	o := &s.opened[w.Slot]
	o.start.Store(int64(w.Start))
	if o.arrival.Load() != int64(w.Arrival) { // a store costs more than a look
		o.arrival.Store(int64(w.Arrival))
	}
	if o.leftUnmarked.Load() != 0 {
		o.leftUnmarked.Store(0)
	}
	o.held.Store(int64(w.Held))
}

// AppendOpen appends to dst the windows that have a slot and began before t.
func (s *Slots) AppendOpen(dst []Open, t stall.Instant) []Open {
	for i := range s.opened {
		o, turn := &s.opened[i], s.turn[i].Load()
		w := Open{
			Slot: int16(i), Held: stall.Instant(o.held.Load()),
			Start: stall.Instant(o.start.Load()), Arrival: stall.Instant(o.arrival.Load()),
		}
		if w.Held != 0 && w.Held < t && 0 < w.Start && w.Start < t && s.turn[i].Load() == turn {
			dst = append(dst, w)
		}
	}
	return dst
}

// StillOpen reports whether the window that left a mark at t has its slot still.
// A window takes its slot before it leaves marks.
func (s *Slots) StillOpen(slot int16, t stall.Instant) bool {
	held := stall.Instant(s.opened[slot].held.Load())
	return held != 0 && held <= t
}

// EndedBy returns by when the window that left a mark at t had ended, if it has.
// T may be off by some error.
func (s *Slots) EndedBy(slot int16, t stall.Instant, off time.Duration) (stall.Instant, bool) {
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

// Leave notes that a child left the window while no slice was traced.
func (s *Slots) Leave(slot int16) { s.opened[slot].leftUnmarked.Add(1) }

// LeftUnmarked returns how many children have left while no slice was traced the window
// that has had the slot since then, or false if it has it no longer.
func (s *Slots) LeftUnmarked(slot int16, held stall.Instant) (int, bool) {
	n := int(s.opened[slot].leftUnmarked.Load())
	return n, stall.Instant(s.opened[slot].held.Load()) == held
}

// ChildrenKnown reports whether the trace has every leave of the window's
// children.
func (s *Slots) ChildrenKnown(slot int16) bool { return s.opened[slot].leftUnmarked.Load() == 0 }
