package gcwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// The recorded end of a cycle is wall time without a monotonic reading, and
// the wall clock may be stepped. So each reading measures the offset at its
// begin and at its end. A cycle that is new in a reading ended after the
// previous reading began and before this one ended: four measurements enclose
// every cycle. If they agree, the offset is known; if not, a step lies between
// and each is a candidate.
type wallHistory struct {
	measure func() stall.WallOffset
	marks   [4]stall.WallOffset // begin and end of the previous reading, then of this one
}

// next makes the marks of the last reading the previous ones.
func (h *wallHistory) next() { h.marks[0], h.marks[1] = h.marks[2], h.marks[3] }

func (h *wallHistory) begin() { h.marks[2] = h.measure() }
func (h *wallHistory) end()   { h.marks[3] = h.measure() }

// instant returns the instant of a wall time that is known to lie in s, and
// the bound of its error. An instant in s is returned whatever the marks say.
func (h *wallHistory) instant(wall int64, s stall.Span) (stall.Instant, time.Duration) {
	lo, hi, slack := s.End, s.Start, time.Duration(0)
	for _, m := range h.marks {
		t := stall.Instant(wall - int64(m.Offset))
		// An instant just outside is the error of the mark, not another step.
		if t < s.Start-stall.Instant(m.Error) || t > s.End+stall.Instant(m.Error) {
			continue
		}
		t = min(max(t, s.Start), s.End)
		lo, hi, slack = min(lo, t), max(hi, t), max(slack, m.Error)
	}
	if hi < lo { // no mark explains it: two steps between two marks
		lo, hi = s.Start, s.End
	}
	// A step within the slack of the marks moves the candidates a little; one
	// that is not leaves both of its sides open.
	mid := lo + (hi-lo)/2
	return mid, max(hi.Sub(mid), mid.Sub(lo)) + slack
}
