package otelgc

import (
	"context"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
)

// TestReclaim: windows that last for ever do not keep the others from being
// followed, and end without harm.
func TestReclaim(t *testing.T) {
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	old := m.Begin(context.Background())
	if old.w.ref.slot == window.NoSlot {
		t.Fatal("the first window has no slot")
	}
	later := m.here.clock.Now().Add(2 * time.Minute)
	if n := m.windows.Slots.Reclaim(later); n != 0 {
		t.Errorf("reclaimed %d slots though there are plenty", n)
	}
	var marks []entry.Mark
	for range window.SlotCount - 1 {
		marks = append(marks, entry.Of(m).Mark(0))
	}
	if w := m.Begin(context.Background()); w.w.ref.slot != window.NoSlot {
		t.Error("a slot too many")
	}
	if n := m.windows.Slots.Reclaim(m.here.clock.Now()); n != 0 {
		t.Errorf("reclaimed %d slots of young windows", n)
	}
	if n := m.windows.Slots.Reclaim(later); n != window.SlotCount {
		t.Errorf("reclaimed %d slots, want all %d", n, window.SlotCount)
	}
	for _, k := range marks {
		entry.Of(m).Release(k)
	}
	old.End()
	seen := make(map[int16]bool)
	for range window.SlotCount {
		slot := m.windows.Slots.Take()
		if slot == window.NoSlot || seen[slot] {
			t.Fatalf("slot %d was given twice", slot)
		}
		seen[slot] = true
	}
	for slot := range seen {
		m.windows.Slots.Give(slot, m.path.now())
	}
}
