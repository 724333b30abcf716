package jitterprobe

import (
	"math"
	"math/bits"
	"time"
)

// subBits is the logarithm of the number of buckets per power of two.
const subBits = 4

// LinearBuckets is the number of buckets of LogLinear.
const LinearBuckets = (Buckets - subBits + 1) << subBits

// LogLinear counts gaps by length in buckets that are a sixteenth of a power of
// two wide: 6 % of their value at most. Below 16 ns each nanosecond has its
// own; the last bucket holds all longer gaps too.
type LogLinear [LinearBuckets]uint64

// linear returns the bucket of d.
func linear(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-1-subBits, 0)
	return min(shift<<subBits+int(v>>shift), LinearBuckets-1)
}

// Bounds returns the lengths from which on and below which bucket i counts. The
// last one has no upper bound.
func (h *LogLinear) Bounds(i int) (from, below time.Duration) {
	shift := max(i>>subBits-1, 0)
	from = time.Duration(i-shift<<subBits) << shift
	if i == LinearBuckets-1 {
		return from, math.MaxInt64
	}
	return from, from + 1<<shift
}

// Total returns the number of gaps.
func (h *LogLinear) Total() (n uint64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Merge adds the counts of o.
func (h *LogLinear) Merge(o *LogLinear) {
	for i, c := range o {
		h[i] += c
	}
}

// Quantile returns the length that a fraction q of the gaps, 0 to 1, does not
// exceed: the upper end of the bucket that holds it, so up to 6 % too long and
// never too short; of the last bucket the lower one. Zero if there are none.
func (h *LogLinear) Quantile(q float64) time.Duration {
	total := h.Total()
	rank := max(1, uint64(math.Ceil(min(max(q, 0), 1)*float64(total))))
	seen := uint64(0)
	for i, c := range h {
		if seen += c; seen >= rank {
			from, below := h.Bounds(i)
			if i == LinearBuckets-1 {
				return from
			}
			return below - 1
		}
	}
	return 0
}
