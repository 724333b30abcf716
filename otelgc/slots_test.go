package otelgc

import (
	"context"
	"sync"
	"testing"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
)

func TestSlotsAreHeldByOne(t *testing.T) {
	s := newSlots(nil)
	taken := map[int16]bool{}
	for range slotCount {
		slot := s.take()
		if slot == noSlot || taken[slot] {
			t.Fatalf("slot %d, after %d others", slot, len(taken))
		}
		taken[slot] = true
	}
	if slot := s.take(); slot != noSlot {
		t.Errorf("one slot too many: %d", slot)
	}
	giveBack(s, 7)
	giveBack(s, 3)
	if a, b := s.take(), s.take(); a != 7 || b != 3 {
		t.Errorf("took %d and %d, want first the one that was given back first", a, b)
	}
}

// TestSlotsAreSpaced: one that was given back is not taken at once, and no more
// slots are used than that takes.
func TestSlotsAreSpaced(t *testing.T) {
	s := newSlots(nil)
	taken := map[int16]int{}
	for i := range 10 * slotCount {
		slot := s.take()
		if before, ok := taken[slot]; ok && i-before <= spacing {
			t.Fatalf("slot %d is taken again after %d others", slot, i-before)
		}
		taken[slot] = i
		giveBack(s, slot)
	}
	if len(taken) > spacing+1 || s.left() != slotCount {
		t.Errorf("%d slots were used and %d are left, want %d and all", len(taken), s.left(), spacing+1)
	}
}

func TestSlotsRace(t *testing.T) {
	s := newSlots(nil)
	var held [slotCount]sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if slot := s.take(); slot != noSlot {
					if !held[slot].TryLock() {
						t.Errorf("slot %d is held twice", slot)
						return
					}
					held[slot].Unlock()
					giveBack(s, slot)
				}
			}
		})
	}
	wg.Wait()
}

func giveBack(s *slots, slot int16) { s.give(slot, 1) }

// TestCopiesShareNoSlot: a copy of a window that has ended must not give its
// slot to two others.
func TestCopiesShareNoSlot(t *testing.T) {
	s := newSlots(nil)
	slot := s.take()
	const held = 7
	s.publish(openWindow{slot: slot, held: held, start: held})
	if !s.claim(slot, held) {
		t.Fatal("a window cannot claim its slot")
	}
	s.give(slot, 1)
	if s.claim(slot, held) {
		t.Error("a slot was claimed twice by one window")
	}
	if s.publish(openWindow{slot: slot, held: held + 1}); s.claim(slot, held) {
		t.Error("a slot was claimed by the window before")
	}
	if s.claim(noSlot, held) {
		t.Error("no slot was claimed")
	}
}

// TestReclaim: windows that last for ever do not keep the others from being
// followed, and end without harm.
func TestReclaim(t *testing.T) {
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	old := m.Begin(context.Background())
	if old.w.ref.slot == noSlot {
		t.Fatal("the first window has no slot")
	}
	later := m.clock.Now().Add(2 * longHeld)
	if n := m.windows.slots.reclaim(later); n != 0 {
		t.Errorf("reclaimed %d slots though there are plenty", n)
	}
	var marks []entry.Mark
	for range slotCount - 1 {
		marks = append(marks, entry.Of(m).Mark(0))
	}
	if w := m.Begin(context.Background()); w.w.ref.slot != noSlot {
		t.Error("a slot too many")
	}
	if n := m.windows.slots.reclaim(m.clock.Now()); n != 0 {
		t.Errorf("reclaimed %d slots of young windows", n)
	}
	if n := m.windows.slots.reclaim(later); n != slotCount {
		t.Errorf("reclaimed %d slots, want all %d", n, slotCount)
	}
	for _, k := range marks {
		entry.Of(m).Release(k)
	}
	old.End()
	seen := make(map[int16]bool)
	for range slotCount {
		slot := m.windows.slots.take()
		if slot == noSlot || seen[slot] {
			t.Fatalf("slot %d was given twice", slot)
		}
		seen[slot] = true
	}
	for slot := range seen {
		m.windows.slots.give(slot, m.now.instant())
	}
}
