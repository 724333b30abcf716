package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// drawnFor is the time that is drawn, in slots of slotLength.
	drawnFor   = 5 * time.Minute
	slotLength = 500 * time.Millisecond
	maxSlots   = int(drawnFor/slotLength) + 1
	// minutes is how long the longest are kept.
	minutes   = 15
	oneMinute = stall.Instant(time.Minute)
)

// slot is what began within one slot of time: the largest, and how many others.
type slot[T any] struct {
	of     stall.Instant
	size   int64
	most   T
	others int
}

// recent keeps the largest of each slot of the last minutes, in order of time, in maxSlots
// at most. What is quiet takes no room.
type recent[T any] struct{ slots []slot[T] }

// add takes in what began at an instant.
func (r *recent[T]) add(at stall.Instant, size int64, v T) {
	of := at - at%stall.Instant(slotLength)
	i, known := slices.BinarySearchFunc(r.slots, of, func(s slot[T], of stall.Instant) int { return cmp.Compare(s.of, of) })
	if known {
		s := &r.slots[i]
		if s.others++; size > s.size {
			s.size, s.most = size, v
		}
		return
	}
	if len(r.slots) == maxSlots {
		if i == 0 {
			return // it is older than all that is kept
		}
		r.slots = slices.Delete(r.slots, 0, 1)
		i--
	}
	r.slots = slices.Insert(r.slots, i, slot[T]{of: of, size: size, most: v})
}

// forget forgets what began before an instant, and its room where nothing is left.
func (r *recent[T]) forget(before stall.Instant) {
	n := len(r.slots) - len(since(r.slots, before))
	if r.slots = slices.Delete(r.slots, 0, n); len(r.slots) == 0 {
		r.slots = nil
	}
}

// since returns the slots from an instant on.
func since[T any](slots []slot[T], from stall.Instant) []slot[T] {
	i, _ := slices.BinarySearchFunc(slots, from, func(s slot[T], from stall.Instant) int { return cmp.Compare(s.of, from) })
	return slots[i:]
}

// worst keeps the longest of each of the last minutes.
type worst[T any] struct {
	each int // that are kept of a minute
	kept [minutes]struct {
		of   stall.Instant // its beginning
		list []kept[T]     // the longest first
	}
}

// kept is one of the longest.
type kept[T any] struct {
	length time.Duration
	v      *T
}

// add takes in what ended at an instant. It returns what is kept of it, nil if it is not
// among the longest.
func (w *worst[T]) add(end stall.Instant, length time.Duration, v T) *T {
	if end < 0 {
		return nil // who says so is wrong: it is before the boot
	}
	of := end - end%oneMinute
	m := &w.kept[of/oneMinute%minutes]
	switch {
	case of > m.of:
		m.of, m.list = of, m.list[:0]
	case of < m.of:
		return nil // it is older than all that is kept
	}
	i, _ := slices.BinarySearchFunc(m.list, length, func(k kept[T], d time.Duration) int { return cmp.Compare(d, k.length) })
	if i == w.each {
		return nil
	}
	m.list = slices.Insert(m.list, i, kept[T]{length, &v})
	m.list = m.list[:min(len(m.list), w.each)]
	return &v
}

// longest returns what is kept of the last quarter of an hour, the longest first.
func (w *worst[T]) longest(now stall.Instant) []*T {
	var list []kept[T]
	for i := range w.kept {
		if m := &w.kept[i]; m.of+minutes*oneMinute > now {
			list = append(list, m.list...)
		}
	}
	slices.SortStableFunc(list, func(a, b kept[T]) int { return cmp.Compare(b.length, a.length) })
	all := make([]*T, len(list))
	for i, k := range list {
		all[i] = k.v
	}
	return all
}
