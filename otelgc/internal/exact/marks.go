package exact

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// mark is a user log that names the window which has a slot.
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
	ends [window.SlotCount + 1]int32 // in list, of slot i at i+1
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
	for i := range window.SlotCount {
		s.ends[i+1] += s.ends[i]
	}
	s.list = slices.Grow(s.list[:0], n)[:n]
	for i := range marks {
		if m := &marks[i]; wanted(m) {
			s.list[s.ends[m.slot]] = *m
			s.ends[m.slot]++
		}
	}
	copy(s.ends[1:], s.ends[:window.SlotCount])
	s.ends[0] = 0
}

// of returns the marks of a slot in a span. A window may have been over before it was
// marked, if its caller says so: then there are none.
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

// goroutineOf returns the goroutine that carried the window which held slot during in:
// the last mark in it is the window's own.
func (s *slotMarks) goroutineOf(slot int16, in stall.Span) (uint64, bool) {
	list := s.own.of(slot, stall.Span{Start: in.Start, End: in.End + 1})
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1].goroutine, true
}
