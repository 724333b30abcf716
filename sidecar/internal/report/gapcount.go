package report

import (
	"math/bits"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// longGapFrom is the length from which on it is asked of a gap whether garbage
// collection made it.
const longGapFrom = 50 * time.Microsecond

// gapBounds are the lengths that gaps are counted by.
var gapBounds = [...]time.Duration{2 * time.Microsecond, 10 * time.Microsecond, longGapFrom, 100 * time.Microsecond, time.Millisecond}

// gapBuckets is the number of powers of two of nanoseconds; the last one holds
// all longer gaps too.
const gapBuckets = 48

// GapCounts is what a probe saw behind the warm-up.
type GapCounts struct {
	Observed  time.Duration // the time that was watched
	Dropped   uint64        // gaps that the probe had no room for
	Total     uint64
	Time      time.Duration
	Longest   time.Duration
	AtLeast   [len(gapBounds)]uint64 // by gapBounds
	Histogram [gapBuckets]uint64     // bucket i: from 2^i ns to below 2^(i+1)
	Causes    [stall.NumCauses]uint64
	Decided   map[Decision]Sum // the same by what decided the cause
	Worst     []recording.Gap  // the longest, the first of them first; at most worstKept
	// Long is the number of gaps of longGapFrom or more. Overlapping of them fall
	// together with a pause for garbage collection: of the probe's own process if
	// it is inside one, of any process if not. Expected would by chance, if the two
	// had nothing to do with each other. GC are the stops of the probe's own
	// runtime that are pauses, where the place of a pause is known only within a
	// slack those that may be: then AtMost is set.
	Long        uint64
	Overlapping uint64
	GC          uint64
	AtMost      bool
	Expected    float64
	floor       time.Duration // the shortest gap that the probe tells of
	pauses      int           // that the gaps were set against
	long        []longGap
	longLeft    uint64
}

type longGap struct {
	stall.Span
	runtime bool // it is a stop of the probe's own runtime
}

func (c *GapCounts) add(g *recording.Gap, bare bool) {
	d := g.End.Sub(g.Start)
	c.Total++
	c.Time += d
	c.Longest = max(c.Longest, d)
	c.Histogram[min(bits.Len64(uint64(max(d, 1)))-1, gapBuckets-1)]++
	c.Causes[g.Cause]++
	c.decide(g, bare)
	for i, bound := range gapBounds {
		if d >= bound {
			c.AtLeast[i]++
		}
	}
	switch {
	case d < longGapFrom:
	case len(c.long) == maxLong:
		c.longLeft++
	default:
		c.long = append(c.long, longGap{stall.Span{Start: g.Start, End: g.End}, g.Cause == stall.RuntimeUnknown})
	}
}

// longFrom returns from which length on gaps are long here.
func (c *GapCounts) longFrom() time.Duration { return max(longGapFrom, c.floor) }

// settle sets the long gaps against the pauses, which are in order.
func (c *GapCounts) settle(pauses []stall.Span, results stall.Span) {
	c.pauses = len(pauses)
	c.Long = uint64(len(c.long))
	slices.SortFunc(c.long, func(a, b longGap) int { return byStart(a.Span, b.Span) })
	c.Overlapping = c.meet(pauses, func(*longGap) bool { return true })
	if d := results.Duration(); d > 0 {
		var paused time.Duration
		for _, p := range pauses {
			paused += p.Duration()
		}
		for _, g := range c.long {
			// A gap at any place meets a pause if it begins within the pause, or
			// less than its own length before it.
			c.Expected += min(1, float64(paused+time.Duration(len(pauses))*g.Duration())/float64(d))
		}
	}
}

// meet counts the long gaps that which wants and that overlap a pause. The
// pauses are in order.
func (c *GapCounts) meet(pauses []stall.Span, which func(*longGap) bool) (n uint64) {
	var longest time.Duration
	for _, p := range pauses {
		longest = max(longest, p.Duration())
	}
	first := 0
	for i := range c.long {
		g := &c.long[i]
		if !which(g) {
			continue
		}
		for first < len(pauses) && pauses[first].Start.Add(longest) <= g.Start {
			first++ // no later gap can reach it
		}
		for k := first; k < len(pauses) && pauses[k].Start < g.End; k++ {
			if pauses[k].End > g.Start {
				n++
				break
			}
		}
	}
	return n
}

// charge counts the stops of the probe's own runtime that are pauses. The pauses
// are where they may be, in order.
func (c *GapCounts) charge(pauses []stall.Span, atMost bool) {
	c.GC, c.AtMost = c.meet(pauses, func(g *longGap) bool { return g.runtime }), atMost
}
