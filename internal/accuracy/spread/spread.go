// Package spread says what is typical of a few measured values, and how sure
// that is, without assuming how they are distributed.
package spread

import (
	"fmt"
	"math"
	"slices"
)

// Quantile returns the value below which the fraction q of values lies, by the
// nearest rank. It returns NaN of no values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median returns the middle value, or the mean of the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Interval is a median with the interval in which that of all possible values
// lies, with at least the probability Confidence.
type Interval struct {
	N                 int
	Median, Low, Hi   float64
	Confidence        float64 // exact, of the ranks that were taken; 0: too few values
	LowRank, HighRank int
}

// wanted is the confidence that an interval has at least.
const wanted = 0.95

// Of returns the median of values and its interval by order statistics, which
// is the exact inversion of the sign test: the narrowest pair of symmetric
// ranks with a confidence of at least 95 %. It takes six values to have one.
func Of(values []float64) Interval {
	n := len(values)
	v := Interval{N: n, Median: Median(values), Low: math.Inf(-1), Hi: math.Inf(1)}
	sorted := slices.Sorted(slices.Values(values))
	for rank := 1; rank <= n/2; rank++ {
		c := 1 - 2*below(n, rank)
		if c < wanted {
			break
		}
		v.Low, v.Hi, v.Confidence = sorted[rank-1], sorted[n-rank], c
		v.LowRank, v.HighRank = rank, n-rank+1
	}
	return v
}

// below returns the probability that fewer than rank of n values are below the
// median.
func below(n, rank int) float64 {
	sum, term := 0.0, math.Pow(0.5, float64(n))
	for k := range rank {
		sum += term
		term *= float64(n-k) / float64(k+1)
	}
	return sum
}

// String returns the interval as text, such as "0.61 to 1.32".
func (v Interval) String() string {
	if v.Confidence == 0 {
		return "n/a (too few)"
	}
	return fmt.Sprintf("%.2f to %.2f", v.Low, v.Hi)
}
