package window

import (
	"sync"
	"testing"
)

func TestSlotsAreHeldByOne(t *testing.T) {
	s := NewSlots()
	taken := map[int16]bool{}
	for range SlotCount {
		slot := s.Take()
		if slot == NoSlot || taken[slot] {
			t.Fatalf("slot %d, after %d others", slot, len(taken))
		}
		taken[slot] = true
	}
	if slot := s.Take(); slot != NoSlot {
		t.Errorf("one slot too many: %d", slot)
	}
	giveBack(s, 7)
	giveBack(s, 3)
	if a, b := s.Take(), s.Take(); a != 7 || b != 3 {
		t.Errorf("took %d and %d, want first the one that was given back first", a, b)
	}
}

// TestSlotsAreSpaced: one that was given back is not taken at once, and no more
// slots are used than that takes.
func TestSlotsAreSpaced(t *testing.T) {
	s := NewSlots()
	taken := map[int16]int{}
	for i := range 10 * SlotCount {
		slot := s.Take()
		if before, ok := taken[slot]; ok && i-before <= spacing {
			t.Fatalf("slot %d is taken again after %d others", slot, i-before)
		}
		taken[slot] = i
		giveBack(s, slot)
	}
	if len(taken) > spacing+1 || s.Left() != SlotCount {
		t.Errorf("%d slots were used and %d are left, want %d and all", len(taken), s.Left(), spacing+1)
	}
}

func TestSlotsRace(t *testing.T) {
	s := NewSlots()
	var held [SlotCount]sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if slot := s.Take(); slot != NoSlot {
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

func giveBack(s *Slots, slot int16) { s.Give(slot, 1) }

// TestCopiesShareNoSlot: a copy of a window that has ended must not give its
// slot to two others.
func TestCopiesShareNoSlot(t *testing.T) {
	s := NewSlots()
	slot := s.Take()
	const held = 7
	s.Publish(Open{Slot: slot, Held: held, Start: held})
	if !s.Claim(slot, held) {
		t.Fatal("a window cannot claim its slot")
	}
	s.Give(slot, 1)
	if s.Claim(slot, held) {
		t.Error("a slot was claimed twice by one window")
	}
	if s.Publish(Open{Slot: slot, Held: held + 1}); s.Claim(slot, held) {
		t.Error("a slot was claimed by the window before")
	}
	if s.Claim(NoSlot, held) {
		t.Error("no slot was claimed")
	}
}
