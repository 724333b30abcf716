package spread

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The intervals are those of R's prop.test without continuity correction.
func TestWilson(t *testing.T) {
	for _, want := range []Share{
		{Hits: 0, Of: 10, Low: 0, Hi: 0.2775328},
		{Hits: 10, Of: 10, Fraction: 1, Low: 0.7224672, Hi: 1},
		{Hits: 81, Of: 263, Fraction: 0.3079848, Low: 0.2552695, Hi: 0.3662099},
		{Fraction: math.NaN(), Hi: 1},
	} {
		got := Wilson(want.Hits, want.Of)
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-4), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", want.Hits, want.Of, d)
		}
	}
	if got, want := Wilson(197, 200).String(), "98.5 % (95.7 to 99.5)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
