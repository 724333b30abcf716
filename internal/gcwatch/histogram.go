package gcwatch

import (
	"math"
	"time"
)

// Bucket is the part of a pause histogram's difference that one bucket of the
// runtime holds.
type Bucket struct {
	Low, High time.Duration // Low <= duration < High; High is maxDuration in the last bucket
	Middle    float64       // geometric middle, seconds; see newEdges for the outer buckets
	Count     uint64        // pauses in it, above zero
}

const maxDuration = time.Duration(math.MaxInt64)

// newEdges converts the bounds of a runtime histogram, n+1 seconds for n
// buckets, once. Bounds that have no geometric middle take what is left: the
// first bucket (negative durations, where a clock misbehaved) counts as zero,
// the one that begins at zero as half its width, the last as its lower bound.
func newEdges(bounds []float64) []Bucket {
	edges := make([]Bucket, len(bounds)-1)
	for i := range edges {
		low, high := bounds[i], bounds[i+1]
		e := &edges[i]
		e.Low, e.High = nanos(low), nanos(high)
		switch {
		case high <= 0:
			e.Middle = 0
		case low <= 0:
			e.Middle = high / 2
		case math.IsInf(high, 1):
			e.Middle = low
		default:
			e.Middle = math.Sqrt(low * high)
		}
	}
	return edges
}

func nanos(seconds float64) time.Duration {
	switch ns := math.Round(seconds * 1e9); {
	case ns <= 0:
		return 0
	case ns >= math.MaxInt64:
		return maxDuration
	default:
		return time.Duration(ns)
	}
}

// counts is one reading of a histogram.
type counts struct {
	of    []uint64
	total uint64
}

func (c *counts) set(from []uint64) {
	c.of = append(c.of[:0], from...)
	c.total = 0
	for _, n := range from {
		c.total += n
	}
}

// since appends the buckets that grew from old to c.
func (c *counts) since(old *counts, edges, to []Bucket) []Bucket {
	if c.total == old.total {
		return to
	}
	for i, n := range c.of {
		if d := n - old.of[i]; d != 0 {
			b := edges[i]
			b.Count = d
			to = append(to, b)
		}
	}
	return to
}
