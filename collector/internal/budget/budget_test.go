package budget

import "testing"

// TestLastEighth: whoever comes first, spans and sums leave an eighth of the
// memory to what is known.
func TestLastEighth(t *testing.T) {
	const limit = 800
	spansFirst := Budget{MaxBytes: limit, MaxSpans: 2}
	if !spansFirst.Hold(1, limit*7/8) {
		t.Fatal("seven eighths are not lent to spans")
	}
	if spansFirst.AddSums(1) {
		t.Error("sums took of the last eighth")
	}
	sumsFirst := Budget{MaxBytes: limit, MaxSpans: 2}
	if !sumsFirst.AddSums(limit/MostSummed) || !sumsFirst.Hold(1, limit*3/4) {
		t.Fatal("an eighth is not lent to sums, or three quarters to spans")
	}
	if sumsFirst.Hold(1, 1) {
		t.Error("spans took of the last eighth")
	}
	for name, a := range map[string]*Budget{"spans first": &spansFirst, "sums first": &sumsFirst} {
		if !a.Know(limit/leastKnown) || a.Know(1) {
			t.Errorf("%s: %d bytes are known, want an eighth of %d, and no more", name, a.known, limit)
		}
	}
}
