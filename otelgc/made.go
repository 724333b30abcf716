package otelgc

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// madeStop is a stop of the world that a goroutine made which is followed. It
// runs all the while, and is the only one that the stop delays nevertheless.
type madeStop struct {
	goroutine uint64
	stall.Interval
}

// learnMade keeps the stops that goroutines made which are followed.
func (c *chapter) learnMade(stops []gotrace.Stop) {
	c.made = c.made[:0]
	for i := range stops {
		if _, followed := c.trackOf(stops[i].Goroutine); followed {
			s := newStop(&stops[i])
			c.made = append(c.made, madeStop{stops[i].Goroutine, s.interval()})
		}
	}
}

// appendMade adds the stops within s that a goroutine made.
func (c *chapter) appendMade(to []stall.Interval, goroutine uint64, s stall.Span) []stall.Interval {
	for i := range c.made {
		if m := &c.made[i]; m.goroutine == goroutine {
			if v := m.Span().Clip(s); !v.Empty() {
				to = append(to, own(v.Start, v.End, m.Cause))
			}
		}
	}
	return to
}
