package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// InGC is the "% time in GC" of one collection, as the runtime's counter has it:
//
//	(TB(n) - TA(n)) / (TB(n) - TB(n-1))
//
// TA is when the threads were suspended, TB just before they resume. It leaves
// out the suspension itself, and counts as GC what paging and lost CPU took
// within the pause.
type InGC struct {
	Share  float64
	Number int // of the collection in the file, from 1
}

// stopped is a collection's time between TA and TB.
type stopped struct {
	number int
	target int // whose it is, in a recording
	inside time.Duration
	tb     stall.Instant
}

// TimeInGC returns the share of each collection but the first, of each process of
// a recording, in order of TB.
// It is nil where the file does not say how long the suspensions took, as a Go
// trace does not.
func (r *Report) TimeInGC() []InGC {
	var list []stopped
	for i := range r.Collections {
		if s, ok := stoppedBy(&r.Collections[i].Collection); ok {
			s.number, s.target = i+1, r.Collections[i].Target
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stopped) int { return cmp.Compare(a.tb, b.tb) })
	var shares []InGC
	last := make(map[int]stall.Instant) // TB, by target
	for _, s := range list {
		before, any := last[s.target]
		if between := s.tb.Sub(before); any && between > 0 {
			shares = append(shares, InGC{float64(s.inside) / float64(between), s.number})
		}
		last[s.target] = s.tb
	}
	return shares
}

func stoppedBy(c *gc.Collection) (s stopped, ok bool) {
	for _, p := range c.Pauses {
		suspend, known := p.Suspend.Get()
		if !known {
			return stopped{}, false
		}
		s.inside += p.Duration() - suspend
		s.tb = max(s.tb, p.End)
	}
	return s, len(c.Pauses) > 0
}

// Before returns how many collections the process had behind it when the file
// began, where the file counts them.
func (r *Report) Before() gc.Maybe[uint64] {
	if len(r.Collections) == 0 {
		return gc.Maybe[uint64]{}
	}
	first := r.Collections[0].Index
	for i := range r.Collections {
		first = min(first, r.Collections[i].Index)
	}
	if first == 0 {
		return gc.Maybe[uint64]{}
	}
	return gc.Known(first - 1)
}

// last returns the largest index.
func (r *Report) last() (index uint64) {
	for i := range r.Collections {
		index = max(index, r.Collections[i].Index)
	}
	return index
}

// Suspended returns the time it took to stop the threads, of all pauses of which
// it is known.
func (r *Report) Suspended() gc.Maybe[time.Duration] {
	var sum gc.Maybe[time.Duration]
	for i := range r.Collections {
		for _, p := range r.Collections[i].Pauses {
			if d, ok := p.Suspend.Get(); ok {
				sum = gc.Known(sum.Or(0) + d)
			}
		}
	}
	return sum
}
