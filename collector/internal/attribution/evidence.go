package attribution

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// joiner lays what is known over the spans of one resource. Its memory is used
// again.
type joiner struct {
	stall.Joiner
	windows  []window
	bare     []stall.Window // the same, for the join
	evidence stall.Evidence
	more     []stall.Interval
	seen     []stall.Span
	pauses   pausesOf
	place    stall.Place
	brought  carried     // by the span at hand
	sums     serviceSums // of this resource
}

// window is a span on the clock of its host.
type window struct {
	stall.Window
	span  ptrace.Span
	off   time.Duration // how far it may be off
	vague int           // of off
	odd   bool          // its times cannot be: it has no length
}

// vague tells apart windows of which some may be much farther off: one that is
// an hour long must not make those beside it uncertain.
func vague(off time.Duration) int { return bits.Len64(uint64(off / (16 * time.Microsecond))) }

// put puts the spans on the clock of their host, by how far they may be off
// there and by start.
func (j *joiner) put(v *view, rs ptrace.ResourceSpans) {
	j.place = stall.Place{PID: v.pid, Cgroups: v.cgroups}
	j.windows = j.windows[:0]
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			start, off, _ := v.walls.instant(clamp(s.StartTimestamp()))
			d, ok := duration(s)
			j.windows = append(j.windows, window{
				Window: stall.Window{Start: start, End: start.Add(d), Place: &j.place}, span: s, off: off, vague: vague(off), odd: !ok,
			})
		}
	}
	slices.SortFunc(j.windows, func(a, b window) int {
		if a.vague != b.vague {
			return cmp.Compare(a.vague, b.vague)
		}
		return cmp.Compare(a.Start, b.Start)
	})
}

// gather collects what the sources said about the time of all windows. They may
// be off by as much as one of them.
func (j *joiner) gather(v *view, windows []window) {
	e := &j.evidence
	e.Process, e.Host, e.TargetSeen = e.Process[:0], e.Host[:0], e.TargetSeen[:0]
	j.seen, j.bare = j.seen[:0], j.bare[:0]
	var slack time.Duration
	all := stall.Span{Start: windows[0].Start, End: windows[0].End}
	for i := range windows {
		j.bare = append(j.bare, windows[i].Window)
		all.End = max(all.End, windows[i].End)
		slack = max(slack, windows[i].off)
	}
	all = stall.Span{Start: all.Start.Add(-slack), End: all.End.Add(slack + 1)} // of no length, too
	for _, p := range v.probes {
		gaps := j.of(p.sourceLog, all)
		if v.process != nil && p.id == v.process.id {
			gaps = own(gaps)
		}
		e.Host = append(e.Host, gaps...)
	}
	j.process(v, all)
	j.pauses.off = slack
	for _, list := range [][]stall.Interval{e.Process, e.Host} {
		for i := range list {
			list[i].Slack += slack
		}
		slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// own leaves what a probe in the process can tell of the machine. With its cgroup it
// stops as the process does: the join inside takes none of these gaps either.
func own(gaps []stall.Interval) []stall.Interval {
	return slices.DeleteFunc(gaps, func(g stall.Interval) bool { return g.Scope == stall.ScopeCgroup })
}

// process collects what was said about the process alone. Every collection is
// told once, by the source that knew it better, so stops need no sorting out.
func (j *joiner) process(v *view, all stall.Span) {
	e := &j.evidence
	for _, l := range v.runtime {
		switch {
		case l == nil:
		case isProbe(l.Origin()): // one in the process, which speaks for it alone
			e.Host = append(e.Host, own(j.of(l, all))...)
		default:
			e.Process = append(e.Process, j.of(l, all)...)
			j.seen = l.Seen(j.seen, all)
		}
	}
	j.seen = stall.Union(j.seen)
	j.pauses.list = j.pauses.list[:0]
	if v.process != nil {
		j.pauses = v.process.pauses.in(j.pauses, all)
		e.Process = j.pauses.doubts(e.Process)
	}
	if v.target != nil {
		e.Host = append(e.Host, j.of(v.target, all)...)
		e.TargetSeen = v.target.Seen(e.TargetSeen, all)
	}
}

func (j *joiner) of(l *sourceLog, all stall.Span) []stall.Interval {
	j.more = l.Intervals(j.more[:0], all)
	return j.more
}

// coverage returns the part of a window in which somebody watched its runtime.
func (j *joiner) coverage(w *window) float64 {
	extent := w.Extent()
	if extent.Empty() {
		if slices.ContainsFunc(j.seen, func(s stall.Span) bool { return s.Start <= extent.Start && extent.Start < s.End }) {
			return 1
		}
		return 0
	}
	var seen time.Duration
	for _, s := range j.seen {
		seen += s.Clip(extent).Duration()
	}
	return seen.Seconds() / extent.Duration().Seconds()
}
