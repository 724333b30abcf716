package stall

import "time"

// Instant is a point in time: nanoseconds of CLOCK_MONOTONIC of this boot, in
// the initial time namespace. Its epoch is named by [BootID]. The zero Instant
// means "not known".
type Instant int64

// Add returns t shifted by d.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }
