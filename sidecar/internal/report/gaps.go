package report

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// longGapFrom is the length from which on it is asked of a gap whether garbage
// collection made it.
const longGapFrom = 50 * time.Microsecond

// bounds are the lengths that gaps are counted by.
var bounds = [...]struct {
	name    string
	atLeast time.Duration
}{
	{"2us", 2 * time.Microsecond}, {"10us", 10 * time.Microsecond}, {"50us", longGapFrom},
	{"100us", 100 * time.Microsecond}, {"1ms", time.Millisecond},
}

// gapBuckets is the number of powers of two of nanoseconds; the last one holds
// all longer gaps too.
const gapBuckets = 48

// worstKept is how many of the longest gaps are kept with their evidence.
const worstKept = 5

// Gaps is what a probe saw behind the warm-up.
type Gaps struct {
	Observed time.Duration          `json:"observed"` // the time that was watched
	Dropped  uint64                 `json:"dropped"`  // gaps that the probe had no room for
	Total    uint64                 `json:"total"`
	Time     time.Duration          `json:"gap_time"`
	Max      time.Duration          `json:"max"`
	Counts   map[string]uint64      `json:"counts"` // at least so long; not of lengths below the probe's threshold
	Causes   map[stall.Cause]uint64 `json:"causes"`
	// Evidence holds, by what decided the cause, how many gaps there were: none is
	// that nothing did.
	Evidence map[string]uint64 `json:"evidence"`
	Longest  []Gap             `json:"longest"` // the longest first, of those that are as long the first; at most worstKept
	// Histogram holds, by the power of two of ns that a gap is not shorter
	// than, how many there were.
	Histogram map[int]uint64 `json:"histogram"`
	Long      uint64         `json:"over_50us"` // of longGapFrom or more
	// NotCompared are longer ones beyond Long, more than a report sets against
	// pauses.
	NotCompared uint64 `json:"over_50us_not_compared,omitempty"`
	// GC is the share of Long that garbage collection made, of a probe within the
	// process only: the stops of its runtime that are pauses. Where the place of a
	// pause is known only within a slack it is of those that may be: then AtMost is
	// set.
	GC     gc.Maybe[float64] `json:"gc_fraction,omitzero"`
	AtMost bool              `json:"gc_fraction_at_most,omitempty"`
	// Overlapping of the long gaps fall together with a pause for garbage collection:
	// of the probe's own process if it is inside one, of any process if not. Expected
	// would by chance, if the two had nothing to do with each other.
	Overlapping uint64  `json:"overlapping"`
	Expected    float64 `json:"overlapping_by_chance"`

	decided map[decision]sum
	floor   time.Duration // the shortest gap that the probe reports
	pauses  int           // that the gaps were set against
	gc      uint64        // of Long, what GC is the share of
	long    []longGap
}

// Gap is one gap.
type Gap struct {
	stall.Span
	Cause    stall.Cause `json:"cause"`
	Scope    stall.Scope `json:"scope"`
	Evidence string      `json:"evidence,omitempty"` // what decided the cause, in words; absent if nothing did
}

// decision is a cause, and what decided it.
type decision struct {
	cause   stall.Cause
	witness jitterprobe.Witness
}

// sum is a number of gaps and their time.
type sum struct {
	gaps uint64
	time time.Duration
}

type longGap struct {
	stall.Span
	runtime bool // it is a stop of the probe's own runtime
}

func newGaps(floor time.Duration) *Gaps {
	g := &Gaps{
		Counts: map[string]uint64{}, Causes: map[stall.Cause]uint64{}, Evidence: map[string]uint64{},
		Longest: []Gap{}, Histogram: map[int]uint64{}, decided: map[decision]sum{}, floor: floor,
	}
	for _, b := range bounds {
		if b.atLeast >= floor {
			g.Counts[b.name] = 0
		}
	}
	return g
}

func (c *Gaps) add(g *jitterprobe.Gap) {
	span, by := stall.Span{Start: g.Start, End: g.End}, decision{g.Cause, g.Evidence.Witness}
	d := span.Duration()
	c.Total++
	c.Time += d
	c.Max = max(c.Max, d)
	c.Histogram[min(bits.Len64(uint64(max(d, 1)))-1, gapBuckets-1)]++
	c.Causes[g.Cause]++
	c.Evidence[by.witness.String()]++
	s := c.decided[by]
	c.decided[by] = sum{s.gaps + 1, s.time + d}
	for _, b := range bounds {
		if d >= b.atLeast && b.atLeast >= c.floor {
			c.Counts[b.name]++
		}
	}
	at, _ := slices.BinarySearchFunc(c.Longest, d, func(have Gap, d time.Duration) int {
		return cmp.Or(cmp.Compare(d, have.Duration()), -1) // behind those that are as long
	})
	if at < worstKept {
		c.Longest = slices.Insert(c.Longest[:min(len(c.Longest), worstKept-1)], at, Gap{span, g.Cause, g.Scope, g.Evidence.String()})
	}
	if d >= longGapFrom {
		keep(&c.long, maxLong, &c.NotCompared, longGap{span, g.Cause == stall.RuntimeUnknown})
	}
}

// longFrom returns from which length on gaps are long here.
func (c *Gaps) longFrom() time.Duration { return max(longGapFrom, c.floor) }

// exactSlack is the largest slack of a pause whose place is known.
const exactSlack = time.Microsecond

// settle compares the long gaps with the pauses. Inside is set if the pauses are of the
// process that the probe runs in.
func (c *Gaps) settle(pauses []stall.Interval, results stall.Span, inside bool) {
	c.pauses, c.Long = len(pauses), uint64(len(c.long))
	var paused time.Duration
	var spans, reach []stall.Span // where pauses are, and where they may be
	wide := false
	for i := range pauses {
		p := &pauses[i]
		paused += p.Duration()
		spans = append(spans, p.Span())
		reach = append(reach, stall.Span{Start: p.Start.Add(-p.Slack), End: p.End.Add(p.Slack)})
		wide = wide || p.Slack > exactSlack
	}
	spans, reach = stall.Union(spans), stall.Union(reach)
	slices.SortFunc(c.long, func(a, b longGap) int { return cmp.Compare(a.Start, b.Start) })
	for _, g := range c.long {
		if meets(spans, g.Span) {
			c.Overlapping++
		}
		if inside && g.runtime && meets(reach, g.Span) {
			c.gc++
		}
		if d := results.Duration(); d > 0 {
			// A gap at any place meets a pause if it begins within the pause, or
			// less than its own length before it.
			c.Expected += min(1, float64(paused+time.Duration(len(pauses))*g.Duration())/float64(d))
		}
	}
	if inside && c.Long > 0 {
		c.GC, c.AtMost = share(c.gc, c.Long), wide
	}
}

// meets reports whether s overlaps a span of list, which are sorted and disjoint.
func meets(list []stall.Span, s stall.Span) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].End > s.Start })
	return i < len(list) && list[i].Start < s.End
}
