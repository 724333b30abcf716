package window

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const (
	// SlotCount is how many windows can be followed at once.
	SlotCount = gotrace.WindowSlots
	// NoSlot is the slot of a window that is not followed.
	NoSlot = -1
)

// Slots names the windows that are open while a slice is traced. A slot is free again
// when its window ends; time tells two windows of one slot apart.
type Slots struct {
	// Begin, End and Over are, by slot, the categories of the user logs that mark a
	// window. They are constants, so that the trace pays for each once per generation.
	Begin, End, Over [SlotCount]string

	turn   [SlotCount]atomic.Uint32 // how many windows had the slot
	opened [SlotCount]opened

	mu   sync.Mutex
	free [SlotCount]int16 // a ring: the slot that was given back first is taken first
	head int
	n    int
	used int // slots that were taken ever: the first so many
}

// spacing is how many slots are given back before one is taken again, so that
// time tells its windows apart. Slots beyond that, and beyond what is open at
// once, are left alone: few names are found fast, by the tracer too.
const spacing = 64

// NewSlots returns slots that are all free.
func NewSlots() *Slots {
	s := new(Slots)
	for i := range int16(SlotCount) {
		s.Begin[i], s.End[i], s.Over[i] = gotrace.WindowBegin.Key(i), gotrace.WindowEnd.Key(i), gotrace.WindowOver.Key(i)
	}
	return s
}

// Take returns a slot, or NoSlot if all are taken.
func (s *Slots) Take() int16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n <= spacing && s.used < SlotCount {
		s.used++
		return int16(s.used - 1)
	}
	if s.n == 0 {
		return NoSlot
	}
	slot := s.free[s.head]
	s.head = (s.head + 1) % SlotCount
	s.n--
	return slot
}

// TakeForEnd takes a slot for the end of a window alone.
func (s *Slots) TakeForEnd() int16 {
	slot := s.Take()
	if slot != NoSlot {
		s.turn[slot].Add(1)
	}
	return slot
}

// Turn returns the number of the window that has the slot, or had it last.
func (s *Slots) Turn(slot int16) uint32 { return s.turn[slot].Load() }

// Held returns when the window that has the slot took it, 0 if none has it.
func (s *Slots) Held(slot int16) stall.Instant { return stall.Instant(s.opened[slot].held.Load()) }

// Give gives back a slot that was claimed, whose window ended at the given time
// or before.
func (s *Slots) Give(slot int16, ended stall.Instant) {
	s.opened[slot].ended.Store(int64(ended))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[(s.head+s.n)%SlotCount] = slot
	s.n++
}

// Claim takes a slot from the window that has had it since then, so that it may
// be marked once more and given back. It reports false if the slot is the
// window's no longer.
func (s *Slots) Claim(slot int16, held stall.Instant) bool {
	if slot == NoSlot || held == 0 || !s.opened[slot].held.CompareAndSwap(int64(held), 0) {
		return false
	}
	s.turn[slot].Add(1)
	return true
}

const (
	// fewSlots is when those that have had one for long have to give it up.
	fewSlots = SlotCount / 4
	longHeld = time.Minute
)

// Reclaim takes back, if few slots are left, those of windows that began long ago:
// streams that last for hours, or windows that were not ended. It returns how many.
// These windows are not followed any more, unless by their end.
func (s *Slots) Reclaim(now stall.Instant) (n uint64) {
	if s.Left() >= fewSlots {
		return 0
	}
	for i := range s.opened {
		held := stall.Instant(s.opened[i].held.Load())
		if held != 0 && now.Sub(held) > longHeld && s.Claim(int16(i), held) {
			s.Give(int16(i), now)
			n++
		}
	}
	return n
}

// Left returns how many slots are free.
func (s *Slots) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n + SlotCount - s.used
}
