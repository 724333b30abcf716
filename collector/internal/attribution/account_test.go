package attribution

import "testing"

// TestLastEighth: whoever comes first, spans and sums leave an eighth of the
// memory to what is known.
func TestLastEighth(t *testing.T) {
	const limit = 800
	spansFirst := account{maxBytes: limit, maxSpans: 2}
	if !spansFirst.hold(1, limit*7/8) {
		t.Fatal("seven eighths are not lent to spans")
	}
	if spansFirst.sum(1) {
		t.Error("sums took of the last eighth")
	}
	sumsFirst := account{maxBytes: limit, maxSpans: 2}
	if !sumsFirst.sum(limit/mostSummed) || !sumsFirst.hold(1, limit*3/4) {
		t.Fatal("an eighth is not lent to sums, or three quarters to spans")
	}
	if sumsFirst.hold(1, 1) {
		t.Error("spans took of the last eighth")
	}
	for name, a := range map[string]*account{"spans first": &spansFirst, "sums first": &sumsFirst} {
		if !a.know(limit/leastKnown) || a.know(1) {
			t.Errorf("%s: %d bytes are known, want an eighth of %d, and no more", name, a.known, limit)
		}
	}
}
