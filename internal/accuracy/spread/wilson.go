package spread

import (
	"fmt"
	"math"
)

// Share is a fraction of what was counted, with the interval in which that of
// all there could be lies.
type Share struct {
	Hits, Of int
	Fraction float64 // NaN of none
	Low, Hi  float64 // 95 %; 0 and 1 of none
}

// z95 is the two-sided 95 % point of the normal distribution.
const z95 = 1.959963984540054

// Wilson returns the score interval of a share (Wilson 1927, Probable
// inference, the law of succession, and statistical inference): unlike the
// textbook's it is good for few and for shares near 0 and 1.
func Wilson(hits, of int) Share {
	if of == 0 {
		return Share{Fraction: math.NaN(), Hi: 1}
	}
	n, p := float64(of), float64(hits)/float64(of)
	middle := p + z95*z95/(2*n)
	half := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	scale := 1 + z95*z95/n
	return Share{hits, of, p, max(0, (middle-half)/scale), min(1, (middle+half)/scale)}
}

// String returns the share as text, such as "98.5 % (96.8 to 99.3)".
func (s Share) String() string {
	if s.Of == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*s.Fraction, 100*s.Low, 100*s.Hi)
}
