package stall

import (
	"math"
	"time"
)

// Instant is a point in time: nanoseconds of CLOCK_MONOTONIC of this boot, in
// the initial time namespace. Its epoch is named by [BootID]. The zero Instant
// means "not known".
type Instant int64

// Add returns t shifted by d.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Span is a stretch of time, half open: Start is in it, End is not.
type Span struct {
	Start, End Instant
}

// Duration returns the length of s, never negative. It saturates.
func (s Span) Duration() time.Duration {
	if s.Empty() {
		return 0
	}
	if d := s.End.Sub(s.Start); d > 0 {
		return d
	}
	return math.MaxInt64
}

// Empty reports whether s holds no instant.
func (s Span) Empty() bool { return s.End <= s.Start }

// Clip returns the part of s that lies in t. It may be empty.
func (s Span) Clip(t Span) Span {
	return Span{max(s.Start, t.Start), min(s.End, t.End)}
}
