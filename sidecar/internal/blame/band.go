package blame

import (
	"math"
	"time"
)

// Band is a range of latency ranks. Bands are disjoint, and every request is in
// exactly one.
type Band uint8

const (
	ToP50     Band = iota // the faster half
	P50ToP90              // above p50, up to p90
	P90ToP99              // above p90, up to p99
	P99ToP999             // above p99, up to p99.9; only with enough requests
	AboveP999             // above p99.9, but for the slowest; only with enough requests
	AboveP99              // above p99, but for the slowest, where p99.9 is n/a
	Slowest               // the one slowest request
	NumBands
)

var bandNames = [NumBands]string{"p0-p50", "p50-p90", "p90-p99", "p99-p999", "p999-max", "p99-max", "slowest"}

// String returns the name of b in JSON, such as "p90-p99".
func (b Band) String() string {
	if b < NumBands {
		return bandNames[b]
	}
	return "unknown"
}

var bandTitles = [NumBands]string{"up to p50", "p50 - p90", "p90 - p99", "p99 - p99.9", "above p99.9", "above p99", "slowest"}

// Tail reports whether the requests of b are above p99.
func (b Band) Tail() bool { return b >= P99ToP999 && b < NumBands }

// MinForP999 is how many requests p99.9 needs: with fewer, fewer than ten lie
// above it, and it is the luck of a few.
const MinForP999 = 10_000

// Latency holds the percentiles by nearest rank: p of the requests took at most
// so long.
type Latency struct {
	P50, P90, P99 time.Duration
	P999          time.Duration // zero if HasP999 is not set
	Max           time.Duration
	HasP999       bool
}

// rank returns how many of n requests are within the quantile.
func rank(q float64, n int) int {
	// The product is rounded before the ceiling: 0.9 of 10 is 9, not 9.000…1.
	return min(n, int(math.Ceil(math.Round(q*float64(n)*1e6)/1e6)))
}

// percentiles returns the latency of sorted requests.
func percentiles(n int, at func(rank int) time.Duration) Latency {
	if n == 0 {
		return Latency{}
	}
	l := Latency{
		P50: at(rank(0.50, n) - 1),
		P90: at(rank(0.90, n) - 1),
		P99: at(rank(0.99, n) - 1),
		Max: at(n - 1),
	}
	if l.HasP999 = n >= MinForP999; l.HasP999 {
		l.P999 = at(rank(0.999, n) - 1)
	}
	return l
}

// bandOf returns the band of the request at rank i of n, 0 the fastest.
func bandOf(i, n int) Band {
	switch {
	case i == n-1:
		return Slowest
	case i < rank(0.50, n):
		return ToP50
	case i < rank(0.90, n):
		return P50ToP90
	case i < rank(0.99, n):
		return P90ToP99
	case n < MinForP999:
		return AboveP99
	case i < rank(0.999, n):
		return P99ToP999
	}
	return AboveP999
}
