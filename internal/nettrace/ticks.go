package nettrace

import (
	"math"
	"math/bits"

	"github.com/otelgc/otelgc/stall"
)

// Ticks is a point in time of the stream's own clock. On Linux and macOS it is
// nanoseconds of CLOCK_MONOTONIC, in the time namespace of the process
// (runtime, src/native/minipal/time.c), on Windows the performance counter.
type Ticks uint64

// Frequency is the number of ticks in a second.
type Frequency uint64

// maxInstant keeps sums of a few instants from overflowing.
const maxInstant = math.MaxInt64 / 4

// Instant converts t exactly, rounding to the nanosecond below: t x 1e9 / f.
// Values that no real stream holds are clamped.
func (f Frequency) Instant(t Ticks) stall.Instant {
	if f == 1e9 {
		return stall.Instant(min(t, maxInstant))
	}
	hi, lo := bits.Mul64(uint64(t), 1e9)
	if hi >= uint64(f) {
		return maxInstant
	}
	q, _ := bits.Div64(hi, lo, uint64(f))
	return stall.Instant(min(q, maxInstant))
}
