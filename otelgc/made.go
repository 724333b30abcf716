package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// madeStop is a stop of the world that a goroutine made which is followed. It
// runs all the while, and is the only one whom the stop delays nevertheless.
type madeStop struct {
	goroutine uint64
	stall.Span
	cause stall.Cause
}

// maxMade bounds the stops that a chapter keeps of those who made them.
const maxMade = 1 << 13

// learnMade keeps the stops that goroutines made which are followed. It returns
// how many were too many: they count as the time of who made them.
func (c *chapter) learnMade(stops []gotrace.Stop) (lost uint64) {
	c.made = c.made[:0]
	for i := range stops {
		s := &stops[i]
		if _, followed := c.trackOf(s.Goroutine); !followed {
			continue
		}
		if len(c.made) >= maxMade {
			lost++
			continue
		}
		c.made = append(c.made, madeStop{s.Goroutine, stall.Span{Start: s.Start, End: s.Over()}, stopCause(s.GC)})
	}
	slices.SortStableFunc(c.made, func(a, b madeStop) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
}

// appendMade adds the stops within s that a goroutine made.
func (c *chapter) appendMade(to []stall.Interval, goroutine uint64, s stall.Span) []stall.Interval {
	i, _ := slices.BinarySearchFunc(c.made, goroutine, func(m madeStop, id uint64) int { return cmp.Compare(m.goroutine, id) })
	for ; i < len(c.made) && c.made[i].goroutine == goroutine && c.made[i].Start < s.End; i++ {
		if v := c.made[i].Clip(s); !v.Empty() {
			to = append(to, own(v.Start, v.End, c.made[i].cause))
		}
	}
	return to
}
