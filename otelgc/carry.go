package otelgc

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// joinOf returns the slot of a mark by which a child goroutine joins a window,
// or leaves it.
func joinOf(key string) (slot int16, leave, ok bool) {
	rest, isJoin := strings.CutPrefix(key, joinPrefix)
	if !isJoin {
		if rest, leave = strings.CutPrefix(key, leavePrefix); !leave {
			return noSlot, false, false
		}
	}
	slot, ok = parseSlot(rest)
	return slot, leave && ok, ok
}

func overOf(key string) (slot int16, ok bool) {
	rest, isOver := strings.CutPrefix(key, overPrefix)
	if !isOver {
		return noSlot, false
	}
	return parseSlot(rest)
}

// holder is who carries the window that has a slot.
type holder struct {
	since    stall.Instant // of the window's first mark
	own      uint64        // 0 if only children are known
	children []uint64
}

// carry brings up to date which goroutines carry windows that have begun and not
// ended: those are followed on. Windows may lie within each other on one
// goroutine, so it is kept by slot. Marks are by time.
func (b *book) carry(marks []gotrace.Mark) {
	for i := range marks {
		at, id := marks[i].At, marks[i].Goroutine
		if slot, end, ok := slotOf(marks[i].Key); ok {
			b.dropAll(slot)
			if !end {
				b.holders[slot] = &holder{since: at, own: id}
				b.carrying[id]++
			}
		} else if slot, leave, ok := joinOf(marks[i].Key); ok {
			b.dropChild(slot, id)
			if !leave {
				b.addChild(slot, id, at)
			}
		} else if slot, ok := overOf(marks[i].Key); ok {
			b.dropAll(slot)
		}
	}
}

func (b *book) addChild(slot int16, id uint64, at stall.Instant) {
	h := b.holders[slot]
	if h == nil {
		h = &holder{since: at}
		b.holders[slot] = h
	}
	h.children = append(h.children, id)
	b.carrying[id]++
}

func (b *book) dropChild(slot int16, id uint64) {
	h := b.holders[slot]
	if h == nil {
		return
	}
	if i := slices.Index(h.children, id); i >= 0 {
		h.children = slices.Delete(h.children, i, i+1)
		b.less(id)
	}
}

func (b *book) dropChildren(h *holder) {
	for _, id := range h.children {
		b.less(id)
	}
	h.children = h.children[:0]
}

func (b *book) dropAll(slot int16) {
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

func (b *book) less(id uint64) {
	if b.carrying[id]--; b.carrying[id] <= 0 {
		delete(b.carrying, id)
	}
}

// keepOpen drops, where nobody watched, who may have ended unseen. A window whose
// slot says that it goes on stays on its goroutine, and its children with it
// unless one has left unseen.
func (b *book) keepOpen() {
	for slot, h := range b.holders {
		if b.slots == nil || !b.slots.stillOpen(slot, h.since.Add(b.error)) {
			b.dropAll(slot)
		} else if !b.slots.childrenKnown(slot) {
			b.dropChildren(h)
		}
	}
}

// carriers returns who is to be followed from the first event of a slice on,
// since windows that it carries were open when the last one ended.
func (b *book) carriers() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepOpen()
	ids := make([]uint64, 0, len(b.carrying))
	for id := range b.carrying {
		ids = append(ids, id)
	}
	return ids
}
