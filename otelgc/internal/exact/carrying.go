package exact

import (
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// holder has the goroutines that carry the window which has a slot.
type holder struct {
	since    stall.Instant // of the window's first mark
	own      uint64        // 0 if only children are known
	children []uint64      // at most maxChildren
}

// carry brings up to date which goroutines carry windows that have begun and not
// ended: those are followed further. Windows may lie within each other on one
// goroutine, so it is kept by slot. Marks are by time. Those before the last mark of
// the window itself are left: most windows begin and end within a second. Windows that
// ended by end, where the generation does, are dropped.
func (b *Store) carry(marks []mark, end stall.Instant) {
	clear(b.last[:])
	for i := range marks {
		if m := &marks[i]; !m.ofChild() {
			b.last[m.slot] = int32(i + 1)
		}
	}
	for i := range marks {
		m := &marks[i]
		switch at := int(b.last[m.slot]) - 1; {
		case i < at:
		case m.kind == gotrace.WindowJoin:
			b.dropChild(m.slot, m.goroutine)
			b.addChild(m.slot, m.goroutine, m.at)
		case m.kind == gotrace.WindowLeave:
			b.dropChild(m.slot, m.goroutine)
		case m.kind == gotrace.WindowBegin && b.over(m.slot, m.at, end):
			b.dropAll(m.slot)
		case m.kind == gotrace.WindowBegin:
			b.dropAll(m.slot)
			b.holders[m.slot] = &holder{since: m.at, own: m.goroutine}
			b.carrying[m.goroutine]++
		default:
			b.dropAll(m.slot)
		}
	}
	for slot, h := range b.holders {
		if b.over(slot, h.since, end) {
			b.dropAll(slot)
		}
		b.dropEnded(h)
	}
}

// over reports whether the window that left a mark at a time had ended by
// another: there is no mark of that in the trace, unless others read it.
func (b *Store) over(slot int16, marked, by stall.Instant) bool {
	ended, ok := b.slots.EndedBy(slot, marked, b.error)
	return ok && ended <= by
}

func (b *Store) addChild(slot int16, id uint64, at stall.Instant) {
	h := b.holders[slot]
	if h == nil {
		h = &holder{since: at}
		b.holders[slot] = h
	}
	if len(h.children) == maxChildren {
		return // it does not count, and those before may have ended untraced
	}
	h.children = append(h.children, id)
	b.carrying[id]++
}

// dropEnded drops the children that ended without leaving.
func (b *Store) dropEnded(h *holder) {
	h.children = slices.DeleteFunc(h.children, func(id uint64) bool {
		_, ended := b.spare.EndOf(id)
		if ended {
			b.less(id)
		}
		return ended
	})
}

func (b *Store) dropChild(slot int16, id uint64) {
	h := b.holders[slot]
	if h == nil {
		return
	}
	if i := slices.Index(h.children, id); i >= 0 {
		h.children = slices.Delete(h.children, i, i+1)
		b.less(id)
	}
}

func (b *Store) dropChildren(h *holder) {
	for _, id := range h.children {
		b.less(id)
	}
	h.children = h.children[:0]
}

func (b *Store) dropAll(slot int16) {
	h := b.holders[slot]
	if h == nil {
		return
	}
	b.dropChildren(h)
	if h.own != 0 {
		b.less(h.own)
	}
	delete(b.holders, slot)
}

func (b *Store) less(id uint64) {
	if b.carrying[id]--; b.carrying[id] <= 0 {
		delete(b.carrying, id)
	}
}

// keepOpen drops, after a time that was not traced, the windows that may have ended in
// it. A window whose slot says that it goes on stays on its goroutine, and its children
// with it unless one has left unseen.
func (b *Store) keepOpen() {
	for slot, h := range b.holders {
		if !b.slots.StillOpen(slot, h.since.Add(b.error)) {
			b.dropAll(slot)
		} else if !b.slots.ChildrenKnown(slot) {
			b.dropChildren(h)
		}
	}
}

// carriers returns the goroutines that are to be followed from the first event of a
// slice on: windows that they carry were open when the last slice ended.
func (b *Store) carriers() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepOpen()
	ids := make([]uint64, 0, len(b.carrying))
	for id := range b.carrying {
		ids = append(ids, id)
	}
	return ids
}
