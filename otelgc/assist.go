package otelgc

import (
	"slices"
	"sort"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// assist is an assist or a sweep as it is kept, of which there are many.
type assist struct {
	start stall.Instant
	rest  uint64 // nanoseconds, and below them whether it swept
}

func newAssist(r *gotrace.Range) assist {
	return assist{r.Start, uint64(max(r.Duration(), 0))<<1 | uint64(r.Kind&1)}
}

func (e assist) end() stall.Instant { return e.start + stall.Instant(e.rest>>1) }

func (e assist) interval() stall.Interval {
	return own(e.start, e.end(), causeOf(gotrace.RangeKind(e.rest&1)))
}

const (
	// maxAssists bounds the assists and sweeps that a generation keeps, 16 bytes
	// each.
	maxAssists = 3 << 16
	// maxOfOne is how many of one goroutine are kept before those of all others
	// are.
	maxOfOne = maxAssists / 4
)

// learnRanges keeps the ranges of goroutines that are followed, and of who stands
// in for them. Where there is no room for all of one's, nothing is known of it in
// this generation; it returns how many those are.
func (c *generation) learnRanges(g *gotrace.Generation) (lost uint64) {
	total := c.countRanges(g)
	c.assists = slices.Grow(c.assists[:0], min(total, maxAssists))
	for _, many := range [...]bool{false, true} {
		for i := range c.tracks {
			switch t := &c.tracks[i]; {
			case t.count == 0 || t.lost || (t.count > maxOfOne) != many:
			case len(c.assists)+t.count > maxAssists:
				c.lose(i)
				lost++
			default:
				from := len(c.assists)
				c.assists = c.assists[:from+t.count]
				t.assists = c.assists[from : from : from+t.count]
			}
		}
	}
	for i := range g.Ranges {
		r := &g.Ranges[i]
		for _, at := range c.whose(g.Turns, r.Goroutine, r.Start) {
			if t := &c.tracks[at]; !t.lost {
				t.assists = append(t.assists, newAssist(r))
			}
		}
	}
	return lost
}

// countRanges notes how many there are of each goroutine that is followed.
func (c *generation) countRanges(g *gotrace.Generation) (total int) {
	for i := range g.Ranges {
		for _, at := range c.whose(g.Turns, g.Ranges[i].Goroutine, g.Ranges[i].Start) {
			c.tracks[at].count++
			total++
		}
	}
	return total
}

// deepest is how many assists and sweeps of one goroutine may be within each
// other.
const deepest = 4

// assistsOf returns the assists and sweeps of a goroutine that may reach into s.
func (c *generation) assistsOf(goroutine uint64, s stall.Span) []assist {
	i, ok := c.trackOf(goroutine)
	if !ok {
		return nil
	}
	list := c.tracks[i].assists
	starts := func(t stall.Instant) int {
		return sort.Search(len(list), func(i int) bool { return list[i].start >= t })
	}
	from, to := max(starts(s.Start)-deepest, 0), starts(s.End)
	for from < to && list[from].end() <= s.Start {
		from++
	}
	return list[from:max(from, to)]
}
