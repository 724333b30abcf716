package stall

import (
	"math"
	"time"
)

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
