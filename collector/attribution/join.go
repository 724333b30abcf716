package attribution

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// longestSpan is what a span may last: what claims more has no time that can be
// related to the clock.
const longestSpan = 7 * 24 * time.Hour

// joiner lays what is known over the spans of one resource. Its memory is used
// again.
type joiner struct {
	stall.Joiner
	names    names
	windows  []window
	bare     []stall.Window // the same, for the join
	evidence stall.Evidence
	more     []stall.Interval
	seen     []stall.Span
	place    stall.Place
}

// window is a span on the clock of its host.
type window struct {
	stall.Window
	span ptrace.Span
}

func (j *joiner) init() { j.names = newNames() }

// attribute joins the spans of h, and writes into d and the sums what becomes of
// them.
func (a *Attributor) attribute(h *held, d *done) {
	on, p := a.known.find(h.id)
	rs := h.spans.ResourceSpans().At(0)
	service := a.sums.service(rs.Resource().Attributes())
	if on == nil || on.wall.n == 0 {
		a.lost.SpansUnknown += uint64(h.n)
		a.unknown(h, d, service)
		return
	}
	switch {
	case p == nil:
		a.lost.SpansUnknown += uint64(h.n)
	case !a.settled(h):
		a.lost.SpansTimedOut += uint64(h.n)
	}
	slack := a.join.put(on, p, rs)
	a.join.gather(on, p, slack)
	a.join.All(a.join.bare, &a.join.evidence, func(i int, s *stall.Share) bool {
		w := &a.join.windows[i]
		own := carries(w.span.Attributes())
		switch {
		case own != nil:
			s = withMachine(own, s)
		case p != nil && s.GC() > 0:
			s.Collections = p.collections(w.Extent())
		}
		a.conclude(h, d, service, w, own != nil, s, a.join.coverage(w))
		return true
	})
}

// unknown concludes spans of whose host nobody told anything.
func (a *Attributor) unknown(h *held, d *done, service *serviceSums) {
	for _, ss := range h.spans.ResourceSpans().At(0).ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			w := window{span: s}
			w.End = stall.Instant(duration(s))
			share := &stall.Share{Total: duration(s), Unseen: duration(s)}
			own := carries(s.Attributes())
			if own != nil {
				share = own
			}
			a.conclude(h, d, service, &w, own != nil, share, 0)
		}
	}
}

// put puts the spans on the clock of their host, and returns how far they may
// be off there.
func (j *joiner) put(on *host, p *process, rs ptrace.ResourceSpans) (slack time.Duration) {
	j.place = stall.Place{}
	if p != nil {
		j.place.PID = int32(p.id.number)
	}
	clear(j.windows)
	j.windows = j.windows[:0]
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			start, off, _ := on.wall.instant(clamp(s.StartTimestamp()))
			slack = max(slack, off)
			j.windows = append(j.windows, window{
				Window: stall.Window{Start: start, End: start.Add(duration(s)), Place: &j.place}, span: s,
			})
		}
	}
	slices.SortStableFunc(j.windows, func(a, b window) int { return cmp.Compare(a.Start, b.Start) })
	j.bare = j.bare[:0]
	for i := range j.windows {
		j.bare = append(j.bare, j.windows[i].Window)
	}
	return slack
}

// gather collects what the sources said about the time of all windows.
func (j *joiner) gather(on *host, p *process, slack time.Duration) {
	e := &j.evidence
	e.Process, e.Host, e.TargetSeen, j.seen = e.Process[:0], e.Host[:0], e.TargetSeen[:0], j.seen[:0]
	if len(j.windows) == 0 {
		return
	}
	all := stall.Span{Start: j.windows[0].Start, End: j.windows[0].End}
	for i := range j.windows {
		all.End = max(all.End, j.windows[i].End)
	}
	all = stall.Span{Start: all.Start.Add(-slack), End: all.End.Add(slack)}
	for _, l := range on.probes {
		if l != nil {
			e.Host = append(e.Host, j.of(l, all)...)
		}
	}
	if p != nil {
		j.process(p, all)
	}
	for _, list := range [][]stall.Interval{e.Process, e.Host} {
		for i := range list {
			list[i].Slack += slack
		}
		slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// process collects what was said about p alone. Every collection is told once,
// by the source that knew it better, so stops need no sorting out.
func (j *joiner) process(p *process, all stall.Span) {
	e := &j.evidence
	for _, l := range p.runtime {
		if l != nil {
			e.Process = append(e.Process, j.of(l, all)...)
			j.seen = l.Seen(j.seen, all)
		}
	}
	j.seen = union(j.seen)
	if p.target != nil {
		e.Host = append(e.Host, j.of(p.target, all)...)
		e.TargetSeen = p.target.Seen(e.TargetSeen, all)
	}
}

func (j *joiner) of(l *sourceLog, all stall.Span) []stall.Interval {
	j.more = l.Intervals(j.more[:0], all)
	return j.more
}

// withMachine adds the machine's part of a joined share to what a span's own
// process charged, which is better than what can be said from here, and stays.
func withMachine(own, joined *stall.Share) *stall.Share {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if !c.IsHost() || own.Charged[c] > 0 {
			continue
		}
		// Only of time of which the process could not say whether it was the
		// machine's.
		d := min(joined.Charged[c], own.AppOrHost)
		own.Charged[c] = d
		own.AppOrHost -= d
	}
	return own
}

// coverage returns the part of a window in which somebody watched its runtime.
func (j *joiner) coverage(w *window) float64 {
	extent := w.Extent()
	if extent.Empty() {
		return 1
	}
	var seen time.Duration
	for _, s := range j.seen {
		seen += s.Clip(extent).Duration()
	}
	return seen.Seconds() / extent.Duration().Seconds()
}

// union merges spans that touch.
func union(spans []stall.Span) []stall.Span {
	slices.SortFunc(spans, func(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// duration returns the length of a span, zero if it makes no sense.
func duration(s ptrace.Span) time.Duration {
	d := time.Duration(clamp(s.EndTimestamp()) - clamp(s.StartTimestamp()))
	if d < 0 || d > longestSpan {
		return 0
	}
	return d
}

// clamp returns Unix ns; a time behind the year 2262 is at its end.
func clamp(t pcommon.Timestamp) int64 { return int64(min(uint64(t), math.MaxInt64/2)) }
