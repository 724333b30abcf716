package otelgc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const (
	slotCount = gotrace.WindowSlots // windows that can be followed at once
	noSlot    = -1
)

// slots names the windows that are open while a slice is traced. The name is
// the category of a user log, an interned constant, so that the trace pays for
// it once per generation. A slot is free again when its window ends; what tells
// two windows of one slot apart is time.
type slots struct {
	begin, end, over [slotCount]string
	turn             [slotCount]atomic.Uint32 // how many windows had the slot
	opened           [slotCount]opened
	refs             [slotCount]windowRef

	mu   sync.Mutex
	free [slotCount]int16 // a ring: the slot that was given back first is taken first
	head int
	n    int
	used int // slots that were taken ever: the first so many
}

// spacing is how many slots are given back before one is taken again, so that
// time tells its windows apart. Slots beyond that, and beyond what is open at
// once, are left alone: few names are found fast, by the tracer too.
const spacing = 64

func newSlots(m *Monitor) *slots {
	s := new(slots)
	for i := range int16(slotCount) {
		s.refs[i] = windowRef{m: m, slot: i}
		s.begin[i], s.end[i], s.over[i] = gotrace.WindowBegin.Key(i), gotrace.WindowEnd.Key(i), gotrace.WindowOver.Key(i)
	}
	return s
}

// take returns a slot, or noSlot if all are taken.
func (s *slots) take() int16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n <= spacing && s.used < slotCount {
		s.used++
		return int16(s.used - 1)
	}
	if s.n == 0 {
		return noSlot
	}
	slot := s.free[s.head]
	s.head = (s.head + 1) % slotCount
	s.n--
	return slot
}

// give gives back a slot that was claimed, whose window ended at the given time
// or before.
func (s *slots) give(slot int16, ended stall.Instant) {
	s.opened[slot].ended.Store(int64(ended))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[(s.head+s.n)%slotCount] = slot
	s.n++
}

// claim takes a slot from the window that has had it since then, so that it may
// be marked once more and given back. It reports false if the slot is the
// window's no longer.
func (s *slots) claim(slot int16, held stall.Instant) bool {
	if slot == noSlot || held == 0 || !s.opened[slot].held.CompareAndSwap(int64(held), 0) {
		return false
	}
	s.turn[slot].Add(1)
	return true
}

const (
	// fewSlots is when those that have had one for long have to give it up.
	fewSlots = slotCount / 4
	longHeld = time.Minute
)

// reclaim takes back, if few are left, the slots of windows that began long ago:
// streams that last for hours, or windows that nobody ended. It returns how
// many. They are not followed any more, unless by their end.
func (s *slots) reclaim(now stall.Instant) (n uint64) {
	if s.left() >= fewSlots {
		return 0
	}
	for i := range s.opened {
		held := stall.Instant(s.opened[i].held.Load())
		if held != 0 && now.Sub(held) > longHeld && s.claim(int16(i), held) {
			s.give(int16(i), now)
			n++
		}
	}
	return n
}

func (s *slots) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n + slotCount - s.used
}
