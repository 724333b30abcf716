package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
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
	limits   []string
}

var (
	unknown = stall.HostUnknown.String()
	either  = stall.HostIRQOrSteal.String()
)

func newTally(c *testCase, s seen, truth []stall.Span) *tally {
	t := &tally{
		c: c, observed: s.Observed, injected: len(truth), gaps: len(s.Gaps), limits: s.Limits,
		causes: make(map[string]int), called: make(map[string]int),
	}
	for _, g := range s.Gaps {
		t.causes[g.Cause]++
		if slices.Contains(c.never, g.Cause) {
			t.never++
		}
	}
	if c.want == "" {
		return t
	}
	slices.SortFunc(truth, func(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, g := range s.Gaps {
		if c.owns(stall.Span{Start: g.Start, End: g.End}, truth, s.Gaps) {
			t.truth++
			t.called[g.Cause]++
		}
	}
	return t
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
		if c.ends && g.End < s.End {
			continue
		}
		part := g.Clip(s).Duration()
		hits, hit = hits+1, s
		if 100*part >= time.Duration(c.of)*s.Duration() {
			covered += part
		}
	}
	if hits > 0 && c.after > 0 {
		d -= min(g.End.Sub(hit.End), c.after)
	}
	if c.cover > 0 {
		return 100*covered >= time.Duration(c.cover)*d
	}
	return hits > 0 && alone(hit, gaps)
}

// alone reports whether only one gap overlaps s.
func alone(s stall.Span, gaps []seenGap) bool {
	i := sort.Search(len(gaps), func(i int) bool { return gaps[i].End > s.Start })
	return i < len(gaps) && gaps[i].Start < s.End && (i+1 == len(gaps) || gaps[i+1].Start >= s.End)
}

// right, undecided and wrong divide the gaps of known truth.
func (t *tally) right() int { return t.called[t.c.want] }

func (t *tally) undecided() int {
	n := t.called[unknown]
	if t.c.want == stall.HostIRQ.String() {
		n += t.called[either] // it is one of the pair
	}
	return n
}

func (t *tally) wrong() int { return t.truth - t.right() - t.undecided() }

// unknownRate is the share of all gaps that nothing decided.
func (t *tally) unknownRate() float64 { return ratio(t.causes[unknown], t.gaps) }

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

func write(s *report.Section, e *experiment, all []*tally) {
	s.Para("A probe on CPU %d of this machine, threshold 1 µs, each case for %v. A gap is of known truth where the injector's own record covers it: "+
		"the cgroup's account for the quota, the competitor's own for when it ran, the signals sent, the thread's count of page faults, "+
		"the samples of a timer, the way of a packet that the CPU had to receive, the runtime's own account of a pause that the gap outlasts, by "+restart.String()+" at most, in which the world is started "+
		"(a pause of more than four times the usual is left out: the machine had a part in it). What is called host.irq_or_steal is wrong unless it was an interrupt.", e.cpu, e.span)
	rows := [][]string{{"injected", "gaps of known truth", "right", "undecided", "wrong", "called what cannot be", "all gaps", "of them unknown"}}
	for _, t := range all {
		if t.left != "" {
			s.Para("%s was left out: %s.", t.c.name, t.left)
			continue
		}
		row := []string{t.c.name, "–", "–", "–", "–"}
		if t.c.want != "" {
			row = []string{t.c.name, fmt.Sprint(t.truth), percent(t.right(), t.truth), percent(t.undecided(), t.truth), percent(t.wrong(), t.truth)}
		}
		rows = append(rows, append(row, fmt.Sprint(t.never), fmt.Sprint(t.gaps), percent(t.causes[unknown], t.gaps)))
	}
	s.Table(rows)
	writeCauses(s, all)
	for _, t := range all {
		if len(t.limits) > 0 {
			s.Para("%s", t.limits[0])
			return
		}
	}
}

// writeCauses is the confusion matrix: what the gaps of known truth are called.
func writeCauses(s *report.Section, all []*tally) {
	var names []string
	for _, t := range all {
		for name := range t.called {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	rows := [][]string{append([]string{"gaps of known truth"}, names...)}
	for _, t := range all {
		if t.truth == 0 {
			continue
		}
		row := []string{t.c.name}
		for _, name := range names {
			row = append(row, fmt.Sprint(t.called[name]))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		s.Table(rows)
	}
}

func percent(part, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*ratio(part, of))
}
