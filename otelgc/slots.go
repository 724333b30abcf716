package otelgc

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	slotCount   = 4096 // windows that can be followed at once
	noSlot      = -1
	markPrefix  = "otelgc."
	beginPrefix = markPrefix + "b."
	endPrefix   = markPrefix + "e."
	overPrefix  = markPrefix + "o." // the end of a window, on no goroutine in particular
	joinPrefix  = markPrefix + "j." // a child goroutine is at work for the window
	leavePrefix = markPrefix + "l." // and no longer
)

// slots names the windows that are open while a slice is traced. The name is
// the category of a user log, an interned constant, so that the trace pays for
// it once per generation. A slot is free again when its window ends; what tells
// two windows of one slot apart is time.
type slots struct {
	begin, end, over [slotCount]string
	turn             [slotCount]atomic.Uint32 // how many windows had the slot
	opened           [slotCount]opened

	mu   sync.Mutex
	free [slotCount]int16 // a ring: the slot that was given back first is taken first
	head int
	n    int
}

func newSlots() *slots {
	s := &slots{n: slotCount}
	for i := range slotCount {
		s.begin[i] = fmt.Sprintf("%s%d", beginPrefix, i)
		s.end[i] = fmt.Sprintf("%s%d", endPrefix, i)
		s.over[i] = fmt.Sprintf("%s%d", overPrefix, i)
		s.free[i] = int16(i)
	}
	return s
}

// take returns a slot, or noSlot if all are taken.
func (s *slots) take() int16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return noSlot
	}
	slot := s.free[s.head]
	s.head = (s.head + 1) % slotCount
	s.n--
	return slot
}

func (s *slots) give(slot int16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[(s.head+s.n)%slotCount] = slot
	s.n++
}

// claim takes a slot from the window that has it in the given turn, so that it
// may be marked once more and given back. It reports false if the slot is the
// window's no longer.
func (s *slots) claim(slot int16, turn uint32) bool {
	if slot == noSlot || !s.turn[slot].CompareAndSwap(turn, turn+1) {
		return false
	}
	s.opened[slot].held.Store(0)
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
		turn := s.turn[i].Load()
		held := stall.Instant(s.opened[i].held.Load())
		if held != 0 && now.Sub(held) > longHeld && s.claim(int16(i), turn) {
			s.give(int16(i))
			n++
		}
	}
	return n
}

func (s *slots) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// slotOf returns the slot that a mark's key names, and whether the mark is that
// of a window's end.
func slotOf(key string) (slot int16, end, ok bool) {
	rest, isBegin := strings.CutPrefix(key, beginPrefix)
	if !isBegin {
		if rest, end = strings.CutPrefix(key, endPrefix); !end {
			return noSlot, false, false
		}
	}
	slot, ok = parseSlot(rest)
	return slot, end && ok, ok
}

func parseSlot(digits string) (int16, bool) {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n >= slotCount {
		return noSlot, false
	}
	return int16(n), true
}
