package gcwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// cycleEnd is what the runtime keeps of one cycle.
type cycleEnd struct {
	sum   time.Duration // of its pauses
	end   stall.Instant // of the last one
	slack time.Duration // error of end
	// after and before enclose every pause of the cycle.
	after, before stall.Instant
}

// whole appends one pause that holds the sum of a cycle's pauses. Nominally it
// is one piece at the cycle's end; in truth there are two or more, anywhere
// between the previous cycle's end and this one's. So the slack reaches back to
// the former, and is never below the sum: then no instant is certain.
func (c *cycleEnd) whole(to []gc.Pause) []gc.Pause {
	start := c.end.Add(-c.sum)
	return append(to, gc.Pause{
		Start: start, End: c.end, EndMax: c.before,
		Phase: gc.PhaseUnknown,
		Slack: max(c.sum, start.Sub(c.after)) + c.slack,
	})
}

// bounds are the least and the most that a duration can be.
type bounds struct{ low, high time.Duration }

// rest returns what is left of sum for b if a has the other part.
func rest(sum time.Duration, a, b Bucket) (bounds, bool) {
	r := bounds{max(b.Low, sum-a.High), min(b.High, sum-a.Low)}
	return r, r.low <= r.high && r.high >= 0
}

// split appends sweep termination and mark termination of a cycle that had two
// stops, in the buckets a and b. If first is not nil it is where sweep
// termination was seen, with a its bucket; if it is nil, either may be either.
//
// The end of mark termination and its least length are known, and only that much is
// reported as mark termination. The rest of the sum lies at an unknown place before
// it. It is reported as sweep termination, or without a phase where either bucket may
// be either stop's, since most of it may be mark termination. So no part is in two
// places, and both add up to the sum.
func (c *cycleEnd) split(a, b Bucket, first *stall.Span, to []gc.Pause) ([]gc.Pause, bool) {
	mark, ok := rest(c.sum, a, b)
	phase := gc.SweepTermination
	if first == nil {
		other, ok2 := rest(c.sum, b, a)
		switch {
		case ok && ok2:
			mark.low, phase = min(mark.low, other.low), gc.PhaseUnknown
		case ok2:
			mark, ok = other, true
		}
	}
	certain := min(mark.low, c.sum)
	if !ok || certain <= 0 {
		return to, false
	}
	span := stall.Span{Start: c.after, End: c.end.Add(-certain)}
	if first != nil {
		span.Start = max(span.Start, first.Start)
	}
	to = append(to,
		within(span, c.sum-certain, c.slack, phase),
		gc.Pause{
			Start: span.End, End: c.end, EndMax: c.before,
			Phase: gc.MarkTermination,
			Slack: c.slack + 1, // the runtime's figures are in whole nanoseconds
		})
	return to, true
}

// within places what is left of a cycle's pauses, d long, somewhere in s. It may be in
// two parts, so no instant of it is certain, only that all of it lies there.
func within(s stall.Span, d, slack time.Duration, phase gc.Phase) gc.Pause {
	start, room := somewhere(s, d)
	room = max(room, d-d/2)
	return gc.Pause{
		Start: start, End: start.Add(d), EndMax: max(start.Add(d), s.End),
		Phase: phase,
		Slack: room + slack + 1,
	}
}

// somewhere returns the start of a stall, d long, in the middle of s, and the
// slack that makes it cover all of s.
func somewhere(s stall.Span, d time.Duration) (start stall.Instant, slack time.Duration) {
	room := max(0, s.Duration()-d)
	return s.End.Add(-d - room/2), room - room/2
}

// maxSuspensions bounds the stops not for the collector that one batch places.
const maxSuspensions = 64

// suspensions appends stops that lie somewhere in s, and returns the number of
// those that found no room.
func suspensions(of []Bucket, s stall.Span, to []stall.Interval) (list []stall.Interval, dropped uint64) {
	room := maxSuspensions
	for _, b := range of {
		for n := b.Count; n > 0; n-- {
			if room == 0 {
				dropped += n
				break
			}
			room--
			d := min(time.Duration(b.Middle*1e9), s.Duration())
			start, slack := somewhere(s, d)
			to = append(to, stall.Interval{
				Start: start, End: start.Add(d), Slack: slack,
				Cause: stall.RuntimeSuspension, Origin: stall.GCWatch, CPU: -1,
			})
		}
	}
	return to, dropped
}
