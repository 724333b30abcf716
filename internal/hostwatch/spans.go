package hostwatch

import "github.com/otelgc/otelgc/stall"

// split cuts the spans of a by those of b, both unions, and appends what lies
// outside b and what lies inside.
func split(outside, inside, a, b []stall.Span) (out, in []stall.Span) {
	i := 0
	for _, s := range a {
		for i < len(b) && b[i].End <= s.Start {
			i++
		}
		for k := i; k < len(b) && b[k].Start < s.End; k++ {
			if s.Start < b[k].Start {
				outside = append(outside, stall.Span{Start: s.Start, End: b[k].Start})
				s.Start = b[k].Start
			}
			if common := s.Clip(b[k]); !common.Empty() {
				inside = append(inside, common)
				s.Start = common.End
			}
		}
		if !s.Empty() {
			outside = append(outside, s)
		}
	}
	return outside, inside
}
