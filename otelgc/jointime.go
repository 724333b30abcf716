package otelgc

import "github.com/otelgc/otelgc/stall"

// taken returns from when on a goroutine counts that joins a window, of which the
// piece s is settled: from its start, if it began in that piece and has done nothing
// since but want a CPU and run. The window waits for it all that time, and where
// CPUs are scarce it waits longest before it can say so. One that parked in between,
// or joined before, was at somebody else's work.
func (c *generation) taken(j mark, s stall.Span) stall.Instant {
	i, ok := c.trackOf(j.goroutine)
	if !ok || !c.tracks[i].created || c.tracks[i].lost || len(c.tracks[i].index) == 0 {
		return j.at
	}
	born := c.tracks[i].index[0].at
	if born < s.Start || born >= j.at || c.marks.joined[j.goroutine] < j.at || c.tracks[i].parks(stall.Span{Start: born, End: j.at}) {
		return j.at
	}
	return born
}

// parks reports whether the goroutine was parked in s, or nobody knows.
func (t track) parks(s stall.Span) bool {
	at := s.Start
	for w := t.in(s); w.next(); at = w.end {
		if w.state.state == stall.StateParked || w.start > at {
			return true
		}
	}
	return at < s.End
}
