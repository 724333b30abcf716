package evidence

import (
	"cmp"
	"slices"
	"sort"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// appendSched splits a wait for a P by whether a GC worker above idle priority
// held one: an upper bound of what the collector has to do with it.
func appendSched(to []stall.Interval, wait stall.Span, workers []stall.Span) []stall.Interval {
	at := wait.Start
	for _, w := range near(workers, wait) {
		w = w.Clip(stall.Span{Start: at, End: wait.End})
		if w.Empty() {
			continue
		}
		if w.Start > at {
			to = append(to, own(at, w.Start, stall.Sched))
		}
		to = append(to, own(w.Start, w.End, stall.SchedGC))
		at = w.End
	}
	if at < wait.End {
		to = append(to, own(at, wait.End, stall.Sched))
	}
	return to
}

// appendUnpolled adds what a GC worker above idle priority took of the time in
// which a request had arrived and its goroutine still waited for the network. Where
// there is one P, its holder keeps the network from being polled, so the goroutine is
// as good as runnable, and the worker's part an upper bound as for one that is.
func appendUnpolled(to []stall.Interval, wait stall.Span, workers []stall.Span) []stall.Interval {
	if wait.Empty() {
		return to
	}
	for _, w := range near(workers, wait) {
		if w = w.Clip(wait); !w.Empty() {
			to = append(to, own(w.Start, w.End, stall.SchedGC))
		}
	}
	return to
}

// near returns the spans of a list, sorted and disjoint, that reach into s.
func near(list []stall.Span, s stall.Span) []stall.Span {
	from := sort.Search(len(list), func(i int) bool { return list[i].End > s.Start })
	to := from
	for to < len(list) && list[to].Start < s.End {
		to++
	}
	return list[from:to]
}

func own(start, end stall.Instant, c stall.Cause) stall.Interval {
	return stall.Interval{Start: start, End: end, Cause: c, Origin: stall.GoTrace, CPU: -1}
}

func causeOf(k gotrace.RangeKind) stall.Cause {
	if k == gotrace.Sweep {
		return stall.GCSweep
	}
	return stall.GCAssist
}

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

// learnRanges keeps the ranges of goroutines that are followed, and of coroutines that
// stand in for them. Of a goroutine for whose ranges there is no room nothing is known
// in this generation; it returns how many those are.
func (c *Generation) learnRanges(g *gotrace.Generation) (lost uint64) {
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
		for _, at := range c.standing(g.Turns, r.Goroutine, r.Start) {
			if t := &c.tracks[at]; !t.lost {
				t.assists = append(t.assists, newAssist(r))
			}
		}
	}
	return lost
}

// countRanges notes how many there are of each goroutine that is followed.
func (c *Generation) countRanges(g *gotrace.Generation) (total int) {
	for i := range g.Ranges {
		for _, at := range c.standing(g.Turns, g.Ranges[i].Goroutine, g.Ranges[i].Start) {
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
func (c *Generation) assistsOf(goroutine uint64, s stall.Span) []assist {
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

// selfStop is a stop of the world by a goroutine that is followed. The goroutine runs
// all the while, and the stop delays it nevertheless.
type selfStop struct {
	goroutine uint64
	stall.Span
	cause stall.Cause
}

// maxMade bounds the stops by followed goroutines that a generation keeps.
const maxMade = 1 << 13

// learnSelfStops keeps the stops by goroutines that are followed. Of a goroutine that
// made more than there is room for nothing is known in this generation; it returns how
// many those are.
func (c *Generation) learnSelfStops(g *gotrace.Generation) (lost uint64) {
	c.made = c.made[:0]
	for i := range g.Stops {
		s := &g.Stops[i]
		for _, at := range c.standing(g.Turns, s.Goroutine, s.Start) {
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
func (c *Generation) appendSelfStops(to []stall.Interval, goroutine uint64, s stall.Span) []stall.Interval {
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
