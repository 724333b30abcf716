package otelgc

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func TestPendingGivesBackInOrder(t *testing.T) {
	var p pending
	var want, got []stall.Instant
	next := stall.Instant(1)
	for round := range 50 {
		for range 300 * (round%7 + 1) {
			p.push(ended{end: next})
			next++
		}
		for _, w := range p.take(nil, next-stall.Instant(round*3), 500+round*10) {
			got = append(got, w.end)
		}
	}
	for batch := p.take(nil, math.MaxInt64, 100); len(batch) > 0; batch = p.take(nil, math.MaxInt64, 100) {
		for _, w := range batch {
			got = append(got, w.end)
		}
	}
	if p.lost() != 0 {
		t.Fatal("dropped though there was room")
	}
	for i := stall.Instant(1); i < next; i++ {
		want = append(want, i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%.500s", diff)
	}
	if came, went := p.came(), p.went(); came != uint64(next-1) || went != came {
		t.Errorf("%d windows came and %d went, want %d", came, went, next-1)
	}
}

func TestPendingIsBounded(t *testing.T) {
	var p pending
	const over = 100
	for i := range maxPending + over {
		p.push(ended{end: stall.Instant(i)})
	}
	if got := p.lost(); got != over {
		t.Errorf("dropped %d windows, want %d", got, over)
	}
	if got := p.lost(); got != 0 {
		t.Errorf("counted %d drops twice", got)
	}
	if got := len(p.take(nil, math.MaxInt64, 2*maxPending)); got != maxPending {
		t.Errorf("kept %d windows, want %d", got, maxPending)
	}
	if n := p.came() - p.went(); n != 0 {
		t.Errorf("still holds %d", n)
	}
	if !p.push(ended{end: 1}) {
		t.Error("took no window though there is room again")
	}
}

func TestPendingTakesWhatIsDue(t *testing.T) {
	var p pending
	for _, end := range []stall.Instant{10, 20, 30} {
		p.push(ended{end: end})
	}
	if got := len(p.take(nil, 20, 10)); got != 2 {
		t.Errorf("took %d windows that ended by 20, want 2", got)
	}
	if n := p.came() - p.went(); n != 1 {
		t.Errorf("still holds %d, want 1", n)
	}
}

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

func TestArrival(t *testing.T) {
	const start = stall.Instant(1000e9)
	const wall = 1_700_000_000 * time.Second // wall = instant + wall
	for _, c := range []struct {
		name   string
		format ArrivalFormat
		text   string
		want   stall.Instant // 0: ignored
	}{
		{"monotonic", ArrivalMonotonic, "999999999000", 999999999000},
		{"monotonic, at the start", ArrivalMonotonic, "1000000000000", start},
		{"monotonic, after the start", ArrivalMonotonic, "1000000000001", 0},
		{"monotonic, ten seconds before", ArrivalMonotonic, "990000000000", 990e9},
		{"monotonic, more than that", ArrivalMonotonic, "989999999999", 0},
		{"seconds", ArrivalUnixSeconds, "1700000999.5", 999.5e9},
		{"seconds, t=", ArrivalUnixSeconds, "t=1700000999.5", 999.5e9},
		{"seconds, NaN", ArrivalUnixSeconds, "NaN", 0},
		{"seconds, Inf", ArrivalUnixSeconds, "+Inf", 0},
		{"seconds, too many", ArrivalUnixSeconds, "9999999999", 0},
		{"seconds, 1e300", ArrivalUnixSeconds, "1e300", 0},
		{"seconds, negative", ArrivalUnixSeconds, "-1", 0},
		{"milliseconds", ArrivalUnixMillis, "1700000999500", 999.5e9},
		{"milliseconds, t=", ArrivalUnixMillis, "t=1700000999500", 999.5e9},
		{"milliseconds, too many", ArrivalUnixMillis, "9223372036854775807", 0},
		{"microseconds", ArrivalUnixMicros, "1700000999500000", 999.5e9},
		{"microseconds, a fraction", ArrivalUnixMicros, "1700000999500000.5", 0},
		{"nothing", ArrivalUnixMicros, "", 0},
		{"long", ArrivalMonotonic, "0000000000000000000000000000000000000000000000000999999999000", 0},
	} {
		a := arrivalHeader{name: "X-Request-Start", format: c.format}
		got := a.of(http.Header{"X-Request-Start": {c.text}}, start, wall)
		if got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	if got := (arrivalHeader{}).of(http.Header{"": {"1"}}, start, wall); got != 0 {
		t.Errorf("without a name: got %d", got)
	}
	if got := (arrivalHeader{name: "X"}).of(nil, start, wall); got != 0 {
		t.Errorf("without a header: got %d", got)
	}
}

// FuzzArrival: whatever a client sends, an arrival is within the ten seconds
// before the start, or it is none.
func FuzzArrival(f *testing.F) {
	for _, s := range []string{"999999999000", "t=1700000999.5", "NaN", "1e300", "-0", "9223372036854775807", "0x1p62"} {
		for format := range ArrivalUnixMicros + 1 {
			f.Add(s, uint8(format), int64(1000e9), int64(1_700_000_000e9))
		}
	}
	f.Fuzz(func(t *testing.T, text string, format uint8, start, wall int64) {
		start &= math.MaxInt64 >> 1
		a := arrivalHeader{name: "X", format: ArrivalFormat(format)}
		at := a.of(http.Header{"X": {text}}, stall.Instant(start), time.Duration(wall))
		if at == 0 {
			return
		}
		if at > stall.Instant(start) || at < stall.Instant(start).Add(-maxArrivalAge) {
			t.Errorf("%s of %s: %d is no arrival at %d", text, strconv.Itoa(int(format)), at, start)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Option{
		"budget below zero": WithExactBudget(-0.1),
		"budget above one":  WithExactBudget(1.1),
		"budget NaN":        WithExactBudget(math.NaN()),
		"arrival format":    WithArrivalHeader("X", 99),
	} {
		if m, err := Start(o, WithBoard("")); err == nil {
			t.Errorf("%s: no error", name)
			shutdown(t, m)
		}
	}
	for _, text := range []string{"x", "-1", "2", "NaN", "1e999"} {
		t.Setenv(BudgetEnv, text)
		if m, err := Start(WithBoard("")); err == nil {
			t.Errorf("%s=%s: no error", BudgetEnv, text)
			shutdown(t, m)
		}
	}
	t.Setenv(BudgetEnv, "0")
	m := startTest(t) // what was refused before left nothing behind
	if m.exact.budget != 0 {
		t.Errorf("budget from the environment: got %v, want 0", m.exact.budget)
	}
}

func giveBack(s *slots, slot int16) { s.give(slot, 1) }
