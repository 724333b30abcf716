package stall

import (
	"cmp"
	"math"
	"slices"
	"time"
)

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
