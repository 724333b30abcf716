package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// selfStop is a stop of the world that a goroutine made which is followed. It
// runs all the while, and is the only one whom the stop delays nevertheless.
type selfStop struct {
	goroutine uint64
	stall.Span
	cause stall.Cause
}

// maxMade bounds the stops that a generation keeps of those who made them.
const maxMade = 1 << 13

// learnSelfStops keeps the stops that goroutines made which are followed. Of who made
// more than there is room for nothing is known in this generation; it returns how
// many those are.
func (c *generation) learnSelfStops(g *gotrace.Generation) (lost uint64) {
	c.made = c.made[:0]
	for i := range g.Stops {
		s := &g.Stops[i]
		for _, at := range c.whose(g.Turns, s.Goroutine, s.Start) {
			switch {
			case c.tracks[at].lost:
			case len(c.made) < maxMade:
				c.made = append(c.made, selfStop{c.tracks[at].goroutine, stall.Span{Start: s.Start, End: s.Over()}, stopCause(s.GC)})
			default:
				c.lose(at)
				lost++
			}
		}
	}
	slices.SortStableFunc(c.made, func(a, b selfStop) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
}

// appendSelfStops adds the stops within s that a goroutine made.
func (c *generation) appendSelfStops(to []stall.Interval, goroutine uint64, s stall.Span) []stall.Interval {
	i, _ := slices.BinarySearchFunc(c.made, s.Start, func(m selfStop, t stall.Instant) int {
		return cmp.Or(cmp.Compare(m.goroutine, goroutine), cmp.Compare(m.End, t))
	})
	for ; i < len(c.made) && c.made[i].goroutine == goroutine && c.made[i].Start < s.End; i++ {
		if v := c.made[i].Clip(s); !v.Empty() {
			to = append(to, own(v.Start, v.End, c.made[i].cause))
		}
	}
	return to
}
