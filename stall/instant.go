package stall

import (
	"cmp"
	"math"
	"slices"
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

// plus returns t shifted by d, and the nearest Instant where that is none.
func (t Instant) plus(d time.Duration) Instant {
	u := t.Add(d)
	switch {
	case d > 0 && u < t:
		return math.MaxInt64
	case d < 0 && u > t:
		return math.MinInt64
	}
	return u
}

// slack returns v.Slack, never negative.
func (v *Interval) slack() time.Duration { return max(0, v.Slack) }

// reach returns the span in which v lies for sure, wherever in it.
func (v *Interval) reach() Span {
	d := v.slack()
	return Span{v.Start.plus(-d), v.End.plus(d)}
}

// Certain returns the part of ext that v covers wherever its slack puts it, which
// is what a join with the extent ext can charge of it; empty if there is none. If
// all the places where v may be are in ext, then its place is in doubt but its
// length is not, and v is certain as a whole: its nominal extent is returned.
func (v *Interval) Certain(ext Span) Span {
	d := v.slack()
	if d == 0 {
		return v.Span().Clip(ext)
	}
	if r := v.reach(); ext.Start <= r.Start && r.End <= ext.End {
		return v.Span()
	}
	return Span{v.Start.plus(d), v.End.plus(-d)}.Clip(ext)
}

// Span is a stretch of time, half open: Start is in it, End is not.
type Span struct {
	Start Instant `json:"start"`
	End   Instant `json:"end"`
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

// Union sorts spans, joins those that touch, and returns them in place: what is in
// one of them is in one of the result, and the empty ones are gone.
func Union(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	n := 0
	for _, s := range spans {
		switch {
		case s.Empty():
		case n > 0 && s.Start <= spans[n-1].End:
			spans[n-1].End = max(spans[n-1].End, s.End)
		default:
			spans[n] = s
			n++
		}
	}
	return spans[:n]
}
