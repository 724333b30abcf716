package gotrace

import (
	"math"
	"math/bits"

	"github.com/otelgc/otelgc/stall"
)

// ticks is a timestamp of the trace, in the units of its EvFrequency.
type ticks uint64

// clock turns ticks into instants. Each generation brings its own.
type clock struct {
	frequency uint64 // ticks per second, never zero once set
	whole     uint64 // nanoseconds per tick, if that is a whole number, else 0
	snapshot  bool   // Go 1.25+: snapMono and, right after it, snapTicks were read
	snapTicks ticks
	snapMono  uint64 // nanoseconds of nanotime
	nanotime  bool   // ticks are of nanotime, see settle
	offset    stall.Instant
}

const (
	// nanotimeFrequency is what a trace has whose ticks are nanotime()/64, as
	// they are since Go 1.22 wherever that clock is fine enough
	// (runtime/tracetime.go). On Linux it is CLOCK_MONOTONIC.
	nanotimeFrequency = 1e9 / nanotimeTick
	nanotimeTick      = 64
	// snapshotMost is the most that passes between the two readings of a
	// snapshot, in nanoseconds. If they are further apart, or the later one is
	// smaller, they are of two clocks.
	snapshotMost = 1e9
)

// settle decides what places the instants, once all of the generation is read.
// Ticks of nanotime do so themselves, and better than a snapshot: the thread that
// takes it may lose its CPU between the two readings.
func (c *clock) settle() {
	c.nanotime = c.frequency == nanotimeFrequency
	if c.nanotime && c.snapshot {
		apart := c.nanoseconds(uint64(c.snapTicks)) - int64(min(c.snapMono, maxInstant))
		c.nanotime = -nanotimeTick < apart && apart < snapshotMost
	}
}

// shared reports whether instants are of nanotime, and not only durations.
func (c *clock) shared() bool { return c.nanotime || c.snapshot }

// maxInstant keeps sums of a few instants from overflowing.
const maxInstant = math.MaxInt64 / 4

// instant converts t exactly, rounding to the nanosecond below. Values that no
// real trace holds are clamped.
func (c *clock) instant(t ticks) stall.Instant {
	if c.nanotime || !c.snapshot {
		return stall.Instant(c.nanoseconds(uint64(t))) + c.offset
	}
	mono := min(int64(min(c.snapMono, maxInstant)), maxInstant)
	if t >= c.snapTicks {
		return stall.Instant(mono+c.nanoseconds(uint64(t-c.snapTicks))) + c.offset
	}
	return stall.Instant(mono-c.nanoseconds(uint64(c.snapTicks-t))) + c.offset
}

// nanoseconds returns d ticks in nanoseconds, at most maxInstant.
func (c *clock) nanoseconds(d uint64) int64 {
	if d < 1<<32 && c.whole != 0 {
		return min(int64(d*c.whole), maxInstant) // what all real traces have: no division
	}
	hi, lo := bits.Mul64(d, 1e9)
	if hi >= c.frequency {
		return maxInstant
	}
	q, _ := bits.Div64(hi, lo, c.frequency)
	return int64(min(q, maxInstant))
}

// readSync reads a sync batch: the frequency, and from Go 1.25 on the snapshot
// of the clocks. data has slop bytes past n.
func (c *clock) readSync(data []byte, n int, base ticks, version int) error {
	i := 0
	if version >= go125 {
		i = 1 // EvSync
	}
	for i < n {
		typ := eventType(data[i])
		switch {
		case typ == evFrequency:
			if c.frequency != 0 {
				return broken("two frequencies in one generation")
			}
			if c.frequency, i = uvarint(data, i+1); c.frequency == 0 {
				return broken("frequency is zero")
			}
			if 1e9%c.frequency == 0 {
				c.whole = 1e9 / c.frequency
			}
		case typ == evClockSnapshot && version >= go125:
			if c.snapshot {
				return broken("two clock snapshots in one generation")
			}
			var dt uint64
			dt, i = uvarint(data, i+1)
			c.snapMono, i = uvarint(data, i)
			_, i = uvarint(data, i) // wall clock, seconds: never used, it can step
			_, i = uvarint(data, i)
			c.snapshot, c.snapTicks = true, base+ticks(dt)
		default:
			return broken("event %d in a sync batch", typ)
		}
	}
	if i > n {
		return broken("sync batch ends within an event")
	}
	return nil
}
