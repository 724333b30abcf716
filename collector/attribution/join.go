package attribution

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// longestSpan is what a span may last: what claims more has no time that can be
// related to the clock.
const longestSpan = 7 * 24 * time.Hour

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
	sums     serviceSums // of this resource
}

// window is a span on the clock of its host.
type window struct {
	stall.Window
	span  ptrace.Span
	off   time.Duration // how far it may be off
	vague int           // of off
}

// vague tells apart windows of which some may be much farther off: one that is
// an hour long must not make those beside it uncertain.
func vague(off time.Duration) int { return bits.Len64(uint64(off / (16 * time.Microsecond))) }

// outcome is what becomes of one span.
type outcome struct {
	share    *stall.Share
	kind     gc.Kind // the gravest of its collections
	own      bool    // the charges are those of its own process
	coverage float64
}

// attribute joins the spans of h, and returns what there is to tell of them.
func (a *Attributor) attribute(j *joiner, h *held, v *view) (told plog.Logs) {
	told = plog.NewLogs()
	w := writer{a: a, j: j, h: h, told: told, inside: v.inside}
	resource := h.spans.ResourceSpans().At(0).Resource().Attributes()
	if text(resource, stall.AttrBootID) == "" {
		w.boot = v.boot
	}
	if v.wall == nil {
		w.unknown()
	} else {
		w.joined(v)
	}
	a.sums.add(resource, &j.sums)
	return told
}

// joined concludes spans of a host that is known.
func (w *writer) joined(v *view) {
	j := w.j
	j.put(v, w.h.spans.ResourceSpans().At(0))
	for rest := j.windows; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].vague == rest[0].vague {
			n++
		}
		w.join(v, rest[:n])
		rest = rest[n:]
	}
	clear(j.windows) // what is handed on is not ours to keep
}

// join concludes spans of which each may be about as far off as the others.
func (w *writer) join(v *view, windows []window) {
	j := w.j
	j.gather(v, windows)
	j.All(j.bare, &j.evidence, func(i int, s *stall.Share) bool {
		win := &windows[i]
		o := outcome{share: s, coverage: j.coverage(win)}
		if own := carries(win.span.Attributes()); own != nil {
			o.share, o.own = withMachine(own, s), true
			if own.Collections > 0 {
				_, o.kind = j.pauses.collections(win.Extent())
			}
		} else if s.GC() > 0 {
			s.Collections, o.kind = j.pauses.collections(win.Extent())
		}
		w.conclude(win, &o)
		return true
	})
}

// unknown concludes spans of whose host nobody told anything.
func (w *writer) unknown() {
	for _, ss := range w.h.spans.ResourceSpans().At(0).ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			win := window{span: s}
			win.End = stall.Instant(duration(s))
			o := outcome{share: carries(s.Attributes())}
			if o.own = o.share != nil; !o.own {
				o.share = &stall.Share{Total: duration(s), Unseen: duration(s)}
			}
			w.conclude(&win, &o)
		}
	}
}

// put puts the spans on the clock of their host, by how far they may be off
// there and by start.
func (j *joiner) put(v *view, rs ptrace.ResourceSpans) {
	j.place = stall.Place{PID: v.pid}
	j.windows = j.windows[:0]
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			start, off, _ := v.wall.instant(clamp(s.StartTimestamp()))
			j.windows = append(j.windows, window{
				Window: stall.Window{Start: start, End: start.Add(duration(s)), Place: &j.place}, span: s, off: off, vague: vague(off),
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
	all = stall.Span{Start: all.Start.Add(-slack), End: all.End.Add(slack)}
	for _, l := range v.probes {
		if l != nil {
			e.Host = append(e.Host, j.of(l, all)...)
		}
	}
	j.process(v, all)
	for _, list := range [][]stall.Interval{e.Process, e.Host} {
		for i := range list {
			list[i].Slack += slack
		}
		slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// process collects what was said about the process alone. Every collection is
// told once, by the source that knew it better, so stops need no sorting out.
func (j *joiner) process(v *view, all stall.Span) {
	e := &j.evidence
	for _, l := range v.runtime {
		if l != nil {
			e.Process = append(e.Process, j.of(l, all)...)
			j.seen = l.Seen(j.seen, all)
		}
	}
	j.seen = union(j.seen)
	j.pauses.list = j.pauses.list[:0]
	if v.process != nil {
		j.pauses = v.process.pauses.in(j.pauses, all)
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

// clamp returns Unix ns; a time behind the year 2116 is at its end.
func clamp(t pcommon.Timestamp) int64 { return int64(min(uint64(t), farthest)) }
