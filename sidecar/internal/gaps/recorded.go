package gaps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// longFrom is the length from which on it is asked of a gap whether garbage
// collection made it.
const longFrom = 50 * time.Microsecond

// maxLong bounds the gaps of one recording that are set against pauses.
const maxLong = 1 << 20

// worstKept is how many of the longest gaps are kept with their evidence.
const worstKept = 5

// Recorded is what a recording holds of the gaps of one probe behind the warm-up.
type Recorded struct {
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
	Long      uint64         `json:"over_50us"` // of longFrom or more
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

	counts  jitterprobe.Counts
	buckets jitterprobe.Histogram
	decided map[decision]sum
	floor   time.Duration // the shortest gap that the probe reports
	pauses  int           // that the gaps were set against
	gc      uint64        // of Long, what GC is the share of
	long    []longGap
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

// NewRecorded returns a record without gaps of a probe that reports those of at least
// floor.
func NewRecorded(floor time.Duration) *Recorded {
	return &Recorded{
		counts: jitterprobe.NewCounts(),
		Counts: map[string]uint64{}, Causes: map[stall.Cause]uint64{}, Evidence: map[string]uint64{},
		Longest: []Gap{}, Histogram: map[int]uint64{}, decided: map[decision]sum{}, floor: floor,
	}
}

// Add counts a gap.
func (c *Recorded) Add(g *jitterprobe.Gap) {
	span, by := stall.Span{Start: g.Start, End: g.End}, decision{g.Cause, g.Evidence.Witness}
	d := span.Duration()
	c.Total++
	c.Time += d
	c.Max = max(c.Max, d)
	c.buckets.Add(d)
	s := c.decided[by]
	c.decided[by] = sum{s.gaps + 1, s.time + d}
	c.counts.Add(d)
	at, _ := slices.BinarySearchFunc(c.Longest, d, func(have Gap, d time.Duration) int {
		return cmp.Or(cmp.Compare(d, have.Duration()), -1) // behind those that are as long
	})
	if at < worstKept {
		c.Longest = slices.Insert(c.Longest[:min(len(c.Longest), worstKept-1)], at, Gap{Span: span, Cause: g.Cause, Scope: g.Scope, Evidence: g.Evidence.String()})
	}
	if d >= longFrom {
		if len(c.long) == maxLong {
			c.NotCompared++
			return
		}
		c.long = append(c.long, longGap{span, g.Cause == stall.RuntimeUnknown})
	}
}

// LongFrom returns from which length on gaps are long here.
func (c *Recorded) LongFrom() time.Duration { return max(longFrom, c.floor) }

// exactSlack is the largest slack of a pause whose place is known.
const exactSlack = time.Microsecond

// Settle sums up, and compares the long gaps with the pauses. It is called once, after
// the last gap. Inside is set if the pauses are of the process that the probe runs in.
func (c *Recorded) Settle(pauses []stall.Interval, results stall.Span, inside bool) {
	c.sumUp()
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
		c.GC, c.AtMost = gc.Known(textfmt.Ratio(c.gc, c.Long)), wide
	}
	c.long = nil
}

// sumUp writes the counts under the names that the document has for them.
func (c *Recorded) sumUp() {
	for _, n := range c.counts {
		if n.AtLeast >= c.floor {
			c.Counts[bound(n.AtLeast)] = n.N
		}
	}
	for i, n := range c.buckets {
		if n > 0 {
			c.Histogram[i] = n
		}
	}
	for by, s := range c.decided {
		c.Causes[by.cause] += s.gaps
		c.Evidence[by.witness.String()] += s.gaps
	}
}

// meets reports whether s overlaps a span of list, which are sorted and disjoint.
func meets(list []stall.Span, s stall.Span) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].End > s.Start })
	return i < len(list) && list[i].Start < s.End
}

// Print writes the gaps under a title. Since is the zero of their times.
func (c *Recorded) Print(w *textfmt.Page, title string, since stall.Instant) {
	w.Heading(title, "%s observed, %s dropped", c.Observed, textfmt.Many(c.Dropped, "gap"))
	if c.Total == 0 {
		w.Say("none")
		return
	}
	w.Say("%s, %s in all, the longest %s", textfmt.Many(c.Total, "gap"), c.Time, c.Max)
	w.Blank()
	var t textfmt.Table
	t.Row("at least", "gaps", "per second")
	for _, b := range c.counts {
		if n, ok := c.Counts[bound(b.AtLeast)]; ok {
			t.Row(b.AtLeast, n, fmt.Sprintf("%.3f", float64(n)/max(c.Observed.Seconds(), 1e-9)))
		}
	}
	w.Table(&t)
	w.Blank()
	c.printDecided(w)
	w.Blank()
	name := "longest"
	for i := range c.Longest {
		g := &c.Longest[i]
		text := g.Cause.String()
		if g.Evidence != "" {
			text += ": " + g.Evidence
		}
		first := textfmt.Sprintf("  %-8s%8s  at +%s  ", name, g.Duration(), fmt.Sprintf("%.6f s", g.Start.Sub(since).Seconds()))
		w.Wrap(first, strings.Repeat(" ", len(first)), text)
		name = ""
	}
	w.Blank()
	w.Table(textfmt.Histogram("gaps", c.buckets[:]))
}

// printDecided writes the causes and what decided them, by the time they took.
func (c *Recorded) printDecided(w *textfmt.Page) {
	all := slices.SortedFunc(maps.Keys(c.decided), func(a, b decision) int {
		return cmp.Or(cmp.Compare(c.decided[b].time, c.decided[a].time), cmp.Compare(a.cause, b.cause), cmp.Compare(a.witness, b.witness))
	})
	t := textfmt.Table{Left: []int{1}}
	t.Row("cause", "decided by", "gaps", "in all")
	for _, d := range all {
		by := strings.ReplaceAll(d.witness.String(), "_", " ")
		if d.witness == jitterprobe.NoWitness {
			by = "nothing"
		}
		t.Row(d.cause, by, c.decided[d].gaps, c.decided[d].time)
	}
	w.Table(&t)
}

// Comparison returns in words what garbage collection has to do with the long gaps.
// Inside is as for Settle.
func (c *Recorded) Comparison(inside bool) string {
	long := textfmt.Length(c.LongFrom())
	gaps := textfmt.Many(c.Long, "gap")
	text := "no gap of " + long + " or more"
	switch {
	case c.Long == 0:
	case c.pauses == 0:
		text = fmt.Sprintf("No pause was seen that the %s of %s or more could be set against.", gaps, long)
	case inside:
		atMost := ""
		if c.AtMost {
			atMost = "At most "
		}
		text = textfmt.Sprintf("%s%s of the %s of %s or more are pauses for garbage collection: %s. %s fall together with a pause; by chance it would be %.1f.", atMost, c.gc, gaps, long, c.GC, c.Overlapping, c.Expected)
	default:
		text = textfmt.Sprintf("What share of the %s of %s or more is garbage collection: %s, since the probe is outside of the processes, and a pause "+
			"of theirs does not stop it. %s of them fall together with a pause; by chance it would be %.1f.", gaps, long, textfmt.None, c.Overlapping, c.Expected)
	}
	return text
}
