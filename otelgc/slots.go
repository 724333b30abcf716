package otelgc

import (
	"cmp"
	"slices"
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

// mark is what a user log of ours says of the window that has a slot.
type mark struct {
	at        stall.Instant
	goroutine uint64
	slot      int16
	kind      gotrace.WindowMark
}

// appendMarks reads the marks of windows among those of a trace.
func appendMarks(to []mark, marks []gotrace.Mark) []mark {
	to = slices.Grow(to, len(marks))
	for i := range marks {
		m := &marks[i]
		if kind, slot, ok := gotrace.ParseWindowMark(m.Key); ok {
			to = append(to, mark{m.At, m.Goroutine, slot, kind})
		}
	}
	return to
}

// ofChild reports whether the mark is of a goroutine that joined a window.
func (m *mark) ofChild() bool {
	return m.kind == gotrace.WindowJoin || m.kind == gotrace.WindowLeave
}

// slotMarks are the marks of one generation.
type slotMarks struct {
	all    []mark                   // by time, until the generation is compacted
	own    bySlot                   // where windows began or ended on their goroutines
	joins  bySlot                   // where child goroutines joined and left
	joined map[uint64]stall.Instant // when a goroutine first joined a window, whichever
}

// learn takes in the marks of a generation, which are by time.
func (s *slotMarks) learn(marks []gotrace.Mark) {
	s.all = appendMarks(s.all[:0], marks)
	s.own.learn(s.all, func(m *mark) bool { return m.kind == gotrace.WindowBegin || m.kind == gotrace.WindowEnd })
	s.joins.learn(s.all, (*mark).ofChild)
	clear(s.joined)
	for i := range slices.Backward(s.all) {
		if m := &s.all[i]; m.kind == gotrace.WindowJoin {
			if s.joined == nil {
				s.joined = make(map[uint64]stall.Instant)
			}
			s.joined[m.goroutine] = m.at // those of before come after
		}
	}
}

// bySlot holds marks by slot, and by time within one.
type bySlot struct {
	list []mark
	ends [slotCount + 1]int32 // in list, of slot i at i+1
}

// learn sorts by counting: there may be a hundred thousand marks in a second.
func (s *bySlot) learn(marks []mark, wanted func(*mark) bool) {
	clear(s.ends[:])
	n := 0
	for i := range marks {
		if m := &marks[i]; wanted(m) {
			s.ends[m.slot+1]++
			n++
		}
	}
	for i := range slotCount {
		s.ends[i+1] += s.ends[i]
	}
	s.list = slices.Grow(s.list[:0], n)[:n]
	for i := range marks {
		if m := &marks[i]; wanted(m) {
			s.list[s.ends[m.slot]] = *m
			s.ends[m.slot]++
		}
	}
	copy(s.ends[1:], s.ends[:slotCount])
	s.ends[0] = 0
}

// of returns the marks of a slot in a span. A window may have been over before
// it was marked, if somebody says so: there are none in that.
func (s *bySlot) of(slot int16, in stall.Span) []mark {
	if in.Empty() {
		return nil
	}
	list := s.list[s.ends[slot]:s.ends[slot+1]]
	at := func(m mark, t stall.Instant) int { return cmp.Compare(m.at, t) }
	from, _ := slices.BinarySearchFunc(list, in.Start, at)
	to, _ := slices.BinarySearchFunc(list, in.End, at)
	return list[from:to]
}

// goroutineOf returns who carried the window that held slot during in: the last
// mark in it is the window's own.
func (s *slotMarks) goroutineOf(slot int16, in stall.Span) (uint64, bool) {
	list := s.own.of(slot, stall.Span{Start: in.Start, End: in.End + 1})
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1].goroutine, true
}
