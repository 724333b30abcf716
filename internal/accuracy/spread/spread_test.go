package spread

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func upTo(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[(i*7)%n] = float64(i + 1) // n is no multiple of 7
	}
	return v
}

// The ranks are those of the tables of the sign test.
func TestIntervalRanks(t *testing.T) {
	for _, test := range []Interval{
		{N: 5, Median: 3, Low: math.Inf(-1), Hi: math.Inf(1)},
		{N: 6, Median: 3.5, Low: 1, Hi: 6, LowRank: 1, HighRank: 6, Confidence: 0.96875},
		{N: 20, Median: 10.5, Low: 6, Hi: 15, LowRank: 6, HighRank: 15, Confidence: 0.9586105},
		{N: 24, Median: 12.5, Low: 7, Hi: 18, LowRank: 7, HighRank: 18, Confidence: 0.9773441},
	} {
		got := Of(upTo(test.N))
		if d := cmp.Diff(test, got, cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Errorf("%d values (-want +got):\n%s", test.N, d)
		}
	}
}

func TestQuantile(t *testing.T) {
	v := upTo(10)
	got := []float64{Quantile(v, 0), Quantile(v, 0.5), Quantile(v, 0.9), Quantile(v, 1), Median(v)}
	if d := cmp.Diff([]float64{1, 5, 9, 10, 5.5}, got); d != "" {
		t.Errorf("quantiles (-want +got):\n%s", d)
	}
	if q := Quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("quantile of nothing = %v, want NaN", q)
	}
}
