package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// tally holds what a case came to.
type tally struct {
	c    *testCase
	left string // why it was left out

	observed time.Duration
	injected int            // stretches of the injection
	gaps     int            // that the probe saw
	causes   map[string]int // of all gaps
	truth    int            // gaps of which the injection is known to be the cause
	called   map[string]int // what those are called
	never    int            // gaps called what cannot be
	odd      []seenGap      // the first that are not right
	limits   []string
}

var unknown = stall.HostUnknown.String()

func newTally(c *testCase, s seen, in injection) *tally {
	truth := in.truth
	t := &tally{
		c: c, observed: s.Observed, injected: len(truth), gaps: len(s.Gaps), limits: s.Limits,
		causes: make(map[string]int), called: make(map[string]int),
	}
	for _, g := range s.Gaps {
		t.causes[g.Cause]++
	}
	slices.SortFunc(truth, func(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) })
	last := stall.Instant(0)
	for _, g := range s.Gaps {
		// Right behind another gap all is slow: the caches are cold.
		cold := g.Start == last
		if last = g.End; slices.Contains(c.never, g.Cause) && !(c.but && (cold || mayBe(truth, stall.Span{Start: g.Start, End: g.End}))) {
			t.never++
		}
		if c.want != "" && !in.disturbed(g) && c.owns(stall.Span{Start: g.Start, End: g.End}, truth, s.Gaps) {
			t.truth++
			t.called[c.call(g)]++
			t.remember(g)
		}
	}
	return t
}

// call returns what g is called, if it is the injection's. With fewer rights the
// evidence may say less.
func (c *testCase) call(g seenGap) string {
	if g.Cause == c.want && c.rights == allRights && !strings.Contains(g.Evidence, c.evidence) {
		return g.Cause + ", no more"
	}
	return g.Cause
}

// disturbed reports whether the thread is known to have been switched out in g.
func (in *injection) disturbed(g seenGap) bool {
	i, _ := slices.BinarySearch(in.switched, g.Start)
	return i < len(in.switched) && in.switched[i] <= g.End
}

// owns reports whether the injection made gap g, as far as can be known.
func (c *testCase) owns(g stall.Span, truth []stall.Span, gaps []seenGap) bool {
	d := g.Duration()
	if d < c.from || d >= c.below {
		return false
	}
	first := sort.Search(len(truth), func(i int) bool { return truth[i].End > g.Start })
	covered, hits, hit := time.Duration(0), 0, stall.Span{}
	for _, s := range truth[first:] {
		if s.Start >= g.End {
			break
		}
		hits, hit = hits+1, s
		covered += g.Clip(s).Duration()
	}
	if c.cover > 0 {
		return 100*covered >= time.Duration(c.cover)*d
	}
	return hits > 0 && alone(hit, gaps)
}

// mayBe reports whether g may be the injection's: it overlaps it, or lies before
// the first of it or after the last, where nobody may have watched.
func mayBe(truth []stall.Span, g stall.Span) bool {
	i := sort.Search(len(truth), func(i int) bool { return truth[i].End > g.Start })
	return i == 0 || i == len(truth) || truth[i].Start < g.End
}

// alone reports whether only one gap overlaps s.
func alone(s stall.Span, gaps []seenGap) bool {
	i := sort.Search(len(gaps), func(i int) bool { return gaps[i].End > s.Start })
	return i < len(gaps) && gaps[i].Start < s.End && (i+1 == len(gaps) || gaps[i+1].Start >= s.End)
}

// maxOdd bounds the gaps of a case that are told of one by one.
const maxOdd = 10

func (t *tally) remember(g seenGap) {
	if t.c.call(g) != t.c.want && len(t.odd) < maxOdd {
		t.odd = append(t.odd, g)
	}
}

// oddities says what the first gaps are called that are not right, and why, one a
// line.
func (t *tally) oddities() string {
	var b strings.Builder
	for _, g := range t.odd {
		fmt.Fprintf(&b, "	%v at %d is called %s: %s\n", g.End.Sub(g.Start), g.Start, g.Cause, g.Evidence)
	}
	return b.String()
}

// right, undecided and wrong divide the gaps of known truth.
func (t *tally) right() int { return t.called[t.c.want] }

func (t *tally) undecided() int {
	n := t.called[unknown]
	if t.c.vague != "" {
		n += t.called[t.c.vague]
	}
	return n
}

func (t *tally) wrong() int { return t.truth - t.right() - t.undecided() }

func ratio(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func (t *tally) String() string {
	return fmt.Sprintf("%d gaps in %v, %d injected, %d known: %d right, %d undecided, %d wrong (%v), %d impossible; %v",
		t.gaps, t.observed.Round(time.Millisecond), t.injected, t.truth, t.right(), t.undecided(), t.wrong(), t.called, t.never, t.causes)
}
