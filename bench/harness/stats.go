package harness

import (
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// Quantile returns the value of rank q of values, by the nearest rank; NaN of no
// values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Interval is a median with its 95 % interval by order statistics, which assumes
// no distribution. A bound is infinite where the values are too few.
type Interval struct{ Median, Low, High float64 }

// Of returns the median of values and its interval.
func Of(values []float64) Interval {
	if len(values) == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
	return Interval{s.Center, s.Lo, s.Hi}
}

// Median returns the middle value, or the mean of the middle two.
func Median(values []float64) float64 { return Of(values).Median }

// MedianOf returns the median of f of every element of list.
func MedianOf[T any](list []T, f func(T) float64) float64 { return Median(Each(list, f)) }

// Each returns f of every element of list.
func Each[T any](list []T, f func(T) float64) []float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = f(v)
	}
	return values
}

// Pair is what was measured without something and with it.
type Pair[T any] struct{ Without, With T }

// Pairs is what was measured in turns.
type Pairs[T any] []Pair[T]

// Alternate measures n pairs in the order ABBA: a machine that gets slower or faster
// favors neither.
func Alternate[T any](n int, measure func(with bool) (T, error)) (Pairs[T], error) {
	pairs := make(Pairs[T], n)
	for i := range pairs {
		for _, with := range []bool{i%2 == 1, i%2 == 0} {
			v, err := measure(with)
			if err != nil {
				return nil, fmt.Errorf("pair %d: %w", i+1, err)
			}
			if with {
				pairs[i].With = v
			} else {
				pairs[i].Without = v
			}
		}
	}
	return pairs, nil
}

// With returns the median of f where what is measured was there.
func (p Pairs[T]) With(f func(T) float64) float64 {
	return MedianOf(p, func(v Pair[T]) float64 { return f(v.With) })
}

// Without returns the median of f where it was not.
func (p Pairs[T]) Without(f func(T) float64) float64 {
	return MedianOf(p, func(v Pair[T]) float64 { return f(v.Without) })
}

// More returns how much more f is with what is measured, in percent, pair by pair.
func (p Pairs[T]) More(f func(T) float64) []float64 {
	return Each(p, func(v Pair[T]) float64 { return 100 * (f(v.With)/f(v.Without) - 1) })
}

// Raw writes all values with two digits, so that readers can compute their own statistics.
func Raw(values []float64) string { return strings.Trim(fmt.Sprintf("%.2f", values), "[]") }

// Times returns v with all of its values multiplied by factor.
func (v Interval) Times(factor float64) Interval {
	return Interval{v.Median * factor, v.Low * factor, v.High * factor}
}

// Text writes the interval with so many digits, such as "0.61 to 1.32".
func (v Interval) Text(digits int) string {
	if math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) {
		return "n/a (too few)"
	}
	return fmt.Sprintf("%.*f to %.*f", digits, v.Low, digits, v.High)
}

// String writes the interval with two digits.
func (v Interval) String() string { return v.Text(2) }

// Stopping reads the runtime's histogram of how long the garbage collector's stops of the
// world took until all had stopped, in seconds.
func Stopping() metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	return *s[0].Value.Float64Histogram()
}

// Share is a part of a count, with its 95 % interval.
type Share struct {
	Hits, Of            int
	Fraction, Low, High float64 // NaN, 0 and 1 of none
}

// z95 is the two-sided 95 % point of the normal distribution.
const z95 = 1.959963984540054

// Wilson returns the score interval of a share, which is good for small counts and
// for shares near 0 and 1 (Wilson 1927, Probable inference, the law of succession,
// and statistical inference).
func Wilson(hits, of int) Share {
	if of == 0 {
		return Share{Fraction: math.NaN(), High: 1}
	}
	n, p := float64(of), float64(hits)/float64(of)
	middle := p + z95*z95/(2*n)
	half := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	scale := 1 + z95*z95/n
	return Share{hits, of, p, max(0, (middle-half)/scale), min(1, (middle+half)/scale)}
}

// String writes the share, such as "98.5 % (96.8 to 99.3)".
func (s Share) String() string {
	if s.Of == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*s.Fraction, 100*s.Low, 100*s.High)
}
