package hostwatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// verdict turns what a timeline saw into denied, mixed and covered time. It
// owns the scratch space for that.
type verdict struct {
	denied, mixed, paged, holes, covered []stall.Span
	still                                []stall.Span // some thread may have waited for a page
}

// judge judges the time all. Doubt says that none of it is covered, and disk
// that pages came from there.
func (v *verdict) judge(l *timeline, all stall.Span, doubt, disk bool) {
	waits, runs := stall.Union(l.waits), stall.Union(l.runs)
	v.denied, v.mixed = split(v.denied[:0], v.mixed[:0], waits, runs)
	v.keepLong(l.threshold)
	v.page(l, all, waits, runs, disk)
	v.covered = v.covered[:0]
	if doubt || len(v.denied)+len(v.paged) > maxPieces {
		return
	}
	v.holes = append(v.holes[:0], v.mixed...)
	// Beside a thread that runs it is not known which of them the page was for, nor,
	// of a wait that goes on, whether it is for one.
	v.holes, _ = split(v.holes, nil, v.still, v.paged)
	v.holes = append(v.holes, l.stops...) // what held it is neither the machine nor the program
	whole := []stall.Span{all}
	v.covered, _ = split(v.covered, nil, whole, stall.Union(v.holes))
	if len(v.covered) > maxPieces {
		v.covered = v.covered[:0]
	}
}

// page finds the time in which a thread waited for a page and none ran or was
// ready: the process stood still for it.
func (v *verdict) page(l *timeline, all stall.Span, waits, runs []stall.Span, disk bool) {
	v.paged, v.still = v.paged[:0], v.still[:0]
	for _, s := range l.disks {
		if disk || s.End == all.End { // a fault counts when it is over
			v.still = append(v.still, s.Clip(all)) // it may have begun in an earlier batch
		}
	}
	v.still = stall.Union(v.still)
	if !disk {
		return
	}
	v.holes, _ = split(v.holes[:0], nil, v.still, runs)
	v.paged, _ = split(v.paged, nil, v.holes, waits)
}

// keepLong makes mixed what was denied for less than d: the moment in which one
// thread of the process takes over from another while a third one waits.
func (v *verdict) keepLong(d time.Duration) {
	n := 0
	for _, s := range v.denied {
		if s.Duration() < d {
			v.mixed = append(v.mixed, s)
			continue
		}
		v.denied[n] = s
		n++
	}
	v.denied, v.mixed = v.denied[:n], stall.Union(v.mixed)
}

// longest returns the longest spans, at most maxPieces, in the order of time.
func longest(spans []stall.Span) []stall.Span {
	if len(spans) <= maxPieces {
		return spans
	}
	slices.SortFunc(spans, func(a, b stall.Span) int { return cmp.Compare(b.Duration(), a.Duration()) })
	spans = spans[:maxPieces]
	slices.SortFunc(spans, func(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) })
	return spans
}

func sum(spans []stall.Span) (d time.Duration) {
	for _, s := range spans {
		d += s.Duration()
	}
	return d
}

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
