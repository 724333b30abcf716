package causes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
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
		if last = g.End; slices.Contains(c.never, g.Cause) && !(c.but && (cold || mayBe(truth, g.Span))) {
			t.never++
		}
		if c.want != "" && !in.disturbed(g) && c.owns(g.Span, truth, s.Gaps) {
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
// the first of it or after the last, where it may have been unwatched.
func mayBe(truth []stall.Span, g stall.Span) bool {
	i := sort.Search(len(truth), func(i int) bool { return truth[i].End > g.Start })
	return i == 0 || i == len(truth) || truth[i].Start < g.End
}

// alone reports whether only one gap overlaps s.
func alone(s stall.Span, gaps []seenGap) bool {
	i := sort.Search(len(gaps), func(i int) bool { return gaps[i].End > s.Start })
	return i < len(gaps) && gaps[i].Start < s.End && (i+1 == len(gaps) || gaps[i+1].Start >= s.End)
}

// maxOdd bounds the gaps of a case that are listed one by one.
const maxOdd = 10

func (t *tally) remember(g seenGap) {
	if t.c.call(g) != t.c.want && len(t.odd) < maxOdd {
		t.odd = append(t.odd, g)
	}
}

// oddities lists the first gaps that are not called right, one a line, with their
// evidence.
func (t *tally) oddities() string {
	var b strings.Builder
	for _, g := range t.odd {
		fmt.Fprintf(&b, "\n	%v at %d is called %s: %s", g.End.Sub(g.Start), g.Start, g.Cause, g.Evidence)
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

func (t *tally) String() string {
	return fmt.Sprintf("%d gaps in %v, %d injected, %d known: %d right, %d undecided, %d wrong (%v), %d impossible; %v",
		t.gaps, t.observed.Round(time.Millisecond), t.injected, t.truth, t.right(), t.undecided(), t.wrong(), t.called, t.never, t.causes)
}

// What is wanted of the gaps of known truth, in hundredths, and how many there
// have to be.
const (
	leastRight = 90
	mostWrong  = 2
	leastKnown = 50
)

// verdict is a bound and how it was kept.
type verdict struct {
	what, wanted, got string
	met               bool
}

// verdicts compares the figures with the bounds. A case that was left out has none.
func verdicts(all []*tally) (list []verdict) {
	for _, t := range all {
		if t.left == "" {
			list = append(list, t.verdicts()...)
		}
	}
	return list
}

func (t *tally) verdicts() (list []verdict) {
	if len(t.c.never) > 0 {
		list = append(list, t.impossible())
	}
	if t.c.want == "" {
		return list
	}
	if t.truth < leastKnown {
		return append(list, verdict{t.c.name + ", gaps of known truth", fmt.Sprintf("%d or more", leastKnown), fmt.Sprint(t.truth), false})
	}
	if t.c.rights == allRights {
		list = append(list, verdict{t.c.name + ", right", fmt.Sprintf("%d %% or more", leastRight), percent(t.right(), t.truth), 100*t.right() >= leastRight*t.truth})
	}
	return append(list, verdict{t.c.name + ", wrong", fmt.Sprintf("%d %% at most", mostWrong), percent(t.wrong(), t.truth), 100*t.wrong() <= mostWrong*t.truth})
}

// impossible is the verdict on gaps with a cause that cannot occur. Where that cause may
// occur in the injection (but), some gaps outside of it have it, too: the calls that are
// watched are not all that the runtime does.
func (t *tally) impossible() verdict {
	v := verdict{what: t.c.name + ", called what cannot be", wanted: "none", got: fmt.Sprintf("%d of %d", t.never, t.gaps), met: t.never == 0}
	if t.c.but {
		v.wanted, v.met = fmt.Sprintf("%d %% of all gaps at most", mostWrong), 100*t.never <= mostWrong*t.gaps
	}
	v.met = v.met && t.gaps > 0
	return v
}

// unmet counts the bounds that were not kept.
func unmet(list []verdict) (n int) {
	for _, v := range list {
		if !v.met {
			n++
		}
	}
	return n
}

func write(s *harness.Page, e *experiment, all []*tally) {
	s.Para("A probe on CPU %d of this machine, threshold 1 µs; each case takes %v, that of the real-time limit, which comes once a second, six times as long. The "+
		"truth of a gap is known where the injector's own record covers it: the cgroup's account for the quota; the competitor's own record of when it ran; the "+
		"call that moved the thread; the time for which the kernel reports the process as stopped; the kernel's samples of page faults at the address where "+
		"they are provoked; the time for which another process kept a page fault waiting (userfaultfd); the samples of a timer; the way of a packet that the "+
		"CPU had to receive. A gap with a short page fault or an interrupt has no known truth if the kernel also recorded that the thread was switched out in "+
		"it. For the process's own collections, uprobes on the runtime tell the truth: when the thread came back while the world was stopped and found no P "+
		"(%s), and when it was released (%s); without collections, when somebody else used its goroutine or had taken its P (%s, %s). Each of these calls takes "+
		"some 1 µs longer for it. host.irq_or_steal is wrong unless the gap was an interrupt. Some cases are repeated by a process with fewer rights: there it "+
		"may be undecided more often, but not wrong.",
		e.cpu, e.span, noP, letGo, somebodyElse, noLongerHasP)
	rows := harness.NewTable("injected | gaps of known truth | right | undecided | wrong | called what cannot be | all gaps | of them unknown")
	for _, t := range all {
		if t.left != "" {
			s.Para("%s was left out: %s.", t.c.name, t.left)
			continue
		}
		known := "– | – | – | –"
		if t.c.want != "" {
			known = fmt.Sprintf("%d | %s | %s | %s", t.truth, percent(t.right(), t.truth), percent(t.undecided(), t.truth), percent(t.wrong(), t.truth))
		}
		rows.Row("%s | %s | %d | %d | %s", t.c.name, known, t.never, t.gaps, percent(t.causes[unknown], t.gaps))
	}
	s.Table(rows)
	writeQuiet(s, all)
	writeCauses(s, all)
	bounds := harness.NewTable("bound | wanted | measured | ")
	for _, v := range verdicts(all) {
		bounds.Row("%s | %s | %s | %s", v.what, v.wanted, v.got, harness.Met(v.met))
	}
	s.Table(bounds)
	for _, t := range all {
		if len(t.limits) > 0 && t.c.rights == allRights {
			s.Para("%s", t.limits[0])
			return
		}
	}
}

// busyFrom is how often in a second another thread may have the CPU of a probe
// to which nothing is done, on a machine that is quiet.
const busyFrom = 50

// writeQuiet adds a paragraph if the machine was not quiet. What other programs do is a
// true cause of gaps, which these tables count as wrong.
func writeQuiet(s *harness.Page, all []*tally) {
	for _, t := range all {
		n := float64(t.causes[stall.HostPreempted.String()]) / max(t.observed.Seconds(), 1e-9)
		if t.c.mode == "spin" && t.c.inject == nil && t.c.work == "" && n >= busyFrom {
			s.Para("The machine was busy: with nothing injected, another thread had the probe's CPU %.0f times a second. Such a gap counts as wrong if it falls into an injection.", n)
		}
	}
}

// writeCauses is the confusion matrix: what the gaps of known truth are called.
func writeCauses(s *harness.Page, all []*tally) {
	called := make(map[string]int)
	for _, t := range all {
		maps.Copy(called, t.called)
	}
	if len(called) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(called))
	rows := harness.NewTable("gaps of known truth | " + strings.Join(names, " | "))
	for _, t := range all {
		if t.truth == 0 {
			continue
		}
		var counts []int
		for _, name := range names {
			counts = append(counts, t.called[name])
		}
		rows.Row("%s | %s", t.c.name, harness.Cells("%d", counts))
	}
	s.Table(rows)
}

func percent(part, of int) string {
	if of == 0 {
		return "–"
	}
	return harness.Percent(float64(part) / float64(of))
}
