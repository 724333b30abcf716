package otelgc

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/internal/gotrace"
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

// carry brings up to date which goroutines carry windows that have begun and not
// ended: those are followed on. Windows may lie within each other on one
// goroutine, so it is kept by slot. Marks are by time.
func (b *book) carry(marks []gotrace.Mark) {
	for i := range marks {
		id := marks[i].Goroutine
		if slot, end, ok := slotOf(marks[i].Key); ok {
			b.dropAll(slot)
			if !end {
				b.hold(slot, id)
			}
		} else if slot, leave, ok := joinOf(marks[i].Key); ok {
			b.drop(slot, id)
			if !leave {
				b.hold(slot, id)
			}
		} else if slot, ok := overOf(marks[i].Key); ok {
			b.dropAll(slot)
		}
	}
}

func (b *book) hold(slot int16, id uint64) {
	b.holders[slot] = append(b.holders[slot], id)
	b.carrying[id]++
}

func (b *book) dropAll(slot int16) {
	for _, id := range b.holders[slot] {
		b.less(id)
	}
	delete(b.holders, slot)
}

func (b *book) drop(slot int16, id uint64) {
	held := b.holders[slot]
	if i := slices.Index(held, id); i >= 0 {
		b.holders[slot] = slices.Delete(held, i, i+1)
		b.less(id)
	}
}

func (b *book) less(id uint64) {
	if b.carrying[id]--; b.carrying[id] <= 0 {
		delete(b.carrying, id)
	}
}
