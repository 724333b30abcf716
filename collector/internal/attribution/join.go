package attribution

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/services"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// mostWindows is for how many spans of one resource a joiner keeps the memory.
const mostWindows = 8192

// outcome is what becomes of one span.
type outcome struct {
	share    *stall.Share
	kind     gc.Kind         // the gravest of its collections
	own      *wire.SpanShare // the share, where it is that of its own process
	coverage float64
	traced   bool // the share is that of a traced request of the process
	odd      bool // the span has times that cannot be
}

// watched reports whether it is known that no collection delayed the span: its runtime
// was watched, or its own process says so. If not, a collection may still be known.
func (o *outcome) watched() bool {
	return o.own != nil || o.traced || o.coverage > 0 || o.share.GC() > 0
}

// attribute joins the spans of h, and returns the events of the slow ones.
func (a *Attributor) attribute(j *joiner, h *held, v *view) (events plog.Logs) {
	events = plog.NewLogs()
	w := writer{a: a, j: j, h: h, events: events, inside: v.inside, pid: h.id.PID}
	if w.pid == 0 && v.process != nil {
		w.pid = v.process.id.PID
	}
	resource := h.spans.Resource().Attributes()
	if wire.Text(resource, semconv.AttrBootID) == "" {
		w.boot = v.boot
	}
	if !v.walls.Known() {
		w.unknown()
	} else {
		w.joined(v)
	}
	return events
}

// joined concludes spans of a host that is known.
func (w *writer) joined(v *view) {
	j := w.j
	j.put(v, w.h.spans)
	j.match(v)
	for rest := j.windows; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].vague == rest[0].vague {
			n++
		}
		w.join(v, rest[:n])
		rest = rest[n:]
	}
	clear(j.windows) // what is handed on is not ours to keep
	if cap(j.windows) > mostWindows {
		j.windows, j.bare, j.roots = nil, nil, nil
	}
}

// join concludes spans of which each may be about as far off as the others.
func (w *writer) join(v *view, windows []window) {
	j := w.j
	j.gather(v, windows)
	j.All(j.bare, &j.evidence, func(i int, s *stall.Share) bool {
		win := &windows[i]
		o := outcome{share: s, odd: win.odd}
		if !o.odd {
			o.coverage = j.coverage(win)
		}
		if s.Total == 0 {
			s.Fidelity = stall.Cycle // nothing is unseen, and no source was exact
		}
		if own := w.brought(win.span, s.Total); own != nil {
			own.Gain(s)
			o.bring(own, s.Total)
			if own.Collections > 0 {
				o.kind = j.pauses.Gravest(win.Extent())
			}
		} else if win.traced != nil {
			own = &j.brought
			own.Of(win.traced, s.Total)
			own.Gain(s)
			o.trace(own, s.Total)
			if own.Collections > 0 {
				o.kind = max(gc.Background, j.pauses.Gravest(win.Extent()))
			}
		} else if s.GC() > 0 {
			o.kind = j.pauses.Kind(win.Extent())
		}
		w.conclude(win, &o)
		return true
	})
}

// unknown concludes spans of a host that is not known.
func (w *writer) unknown() {
	for _, ss := range w.h.spans.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			w.conclude(&window{span: s}, w.unseen(s))
		}
	}
}

// brought returns the share that a span of that length brought, nil if it brought
// none, or one that cannot be.
func (w *writer) brought(s ptrace.Span, length time.Duration) *wire.SpanShare {
	own := &w.j.brought
	if !own.Read(s.Attributes()) {
		return nil
	}
	if !own.Believable(length) {
		w.a.lost.disbelieved.Add(1)
		return nil
	}
	return own
}

// bring makes the share of a span of that length the one that it brought.
func (o *outcome) bring(own *wire.SpanShare, length time.Duration) {
	own.Complete(length)
	o.share, o.own = &own.Share, own
	if own.Coverage >= 0 {
		o.coverage = own.Coverage
	}
}

// trace makes the share of a span of that length that of the request that it is. It is as if
// it had been joined here: the span itself says nothing of it.
func (o *outcome) trace(own *wire.SpanShare, length time.Duration) {
	own.Complete(length)
	o.share, o.traced = &own.Share, true
	o.coverage = own.Share.Coverage()
}

// joiner lays what is known over the spans of one resource. Its memory is used
// again.
type joiner struct {
	stall.Joiner
	windows  []window
	bare     []stall.Window // the same, for the join
	evidence stall.Evidence
	more     []stall.Interval
	seen     []stall.Span
	pauses   senders.Pauses
	place    stall.Place
	brought  wire.SpanShare    // by the span at hand
	sums     services.Requests // of this resource
	roots    []senders.Root    // of it, where its process has traced requests
}

// window is a span on the clock of its host.
type window struct {
	stall.Window
	span   ptrace.Span
	traced *stall.Share  // of the request that it is; nil if none is known
	off    time.Duration // how far it may be off
	vague  int           // of off
	odd    bool          // its times cannot be: it has no length
}

// vague keeps apart windows of which some may be much farther off: one that is
// an hour long must not make those beside it uncertain.
func vague(off time.Duration) int { return bits.Len64(uint64(off / (16 * time.Microsecond))) }

// put puts the spans on the clock of their host, by how far they may be off
// there and by start.
func (j *joiner) put(v *view, rs ptrace.ResourceSpans) {
	j.place = stall.Place{PID: v.pid, Cgroups: v.cgroups}
	j.windows = j.windows[:0]
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			start, off, _ := v.walls.Instant(wire.UnixNano(s.StartTimestamp()))
			d, ok := wire.Duration(s)
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

// match finds the traced requests that spans are. One that brought a share of its own
// keeps that.
func (j *joiner) match(v *view) {
	if v.process == nil || !v.process.traced.Any() {
		return
	}
	j.roots = j.roots[:0]
	for i := range j.windows {
		w := &j.windows[i]
		if w.odd || !wire.IsRoot(w.span) || wire.Text(w.span.Attributes(), semconv.AttrFidelity) != "" {
			continue
		}
		j.roots = append(j.roots, senders.Root{
			Span: w.Extent(), Off: w.off, Task: senders.Task(w.span.Name()), Index: i,
			ID: senders.SpanID{Trace: w.span.TraceID(), Span: w.span.SpanID()},
		})
	}
	v.process.traced.Match(j.roots)
	for i := range j.roots {
		j.windows[j.roots[i].Index].traced = j.roots[i].Share
	}
	clear(j.roots)
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
		gaps := j.of(p.Log, all)
		if v.process != nil && p.id == v.process.id {
			gaps = own(gaps)
		}
		e.Host = append(e.Host, gaps...)
	}
	j.process(v, all)
	j.pauses.Off = slack
	for _, list := range [][]stall.Interval{e.Process, e.Host} {
		for i := range list {
			list[i].Slack += slack
		}
		slices.SortFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// own leaves what a probe in the process can report of the machine. With its cgroup it
// stops as the process does: the join inside takes none of these gaps either.
func own(gaps []stall.Interval) []stall.Interval {
	return slices.DeleteFunc(gaps, func(g stall.Interval) bool { return g.Scope == stall.ScopeCgroup })
}

// process collects what was said about the process alone. Every collection is
// reported once, by the source that knew it better, so stops need no sorting out.
func (j *joiner) process(v *view, all stall.Span) {
	e := &j.evidence
	for _, l := range v.runtime {
		switch {
		case l == nil:
		case wire.IsProbe(l.Origin()): // one in the process, which speaks for it alone
			e.Host = append(e.Host, own(j.of(l, all))...)
		default:
			e.Process = append(e.Process, j.of(l, all)...)
			j.seen = l.Seen(j.seen, all)
		}
	}
	j.seen = stall.Union(j.seen)
	j.pauses.List = j.pauses.List[:0]
	if v.process != nil {
		j.pauses = v.process.pauses.In(j.pauses, all)
		e.Process = j.pauses.Doubts(e.Process)
	}
	if v.target != nil {
		e.Host = append(e.Host, j.of(v.target, all)...)
		e.TargetSeen = v.target.Seen(e.TargetSeen, all)
	}
}

func (j *joiner) of(l *senders.Log, all stall.Span) []stall.Interval {
	j.more = l.Intervals(j.more[:0], all)
	return j.more
}

// coverage returns the part of a window in which its runtime was watched.
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

// view is what is known of where a span ran. It is good for a join without the
// lock: what it points to is read under locks of its own, or never changed.
type view struct {
	boot    string
	walls   senders.Walls // none if the clock is not known
	probes  []probe
	process *process // nil if it is not known
	runtime logs
	target  *senders.Log // what the machine did to the process
	pid     int32        // by which the target goes
	cgroups []uint64     // of the process
	inside  bool         // otelgc is in the process
}

// known reports whether the process is watched.
func (v *view) known() bool { return v.process != nil || v.target != nil }

// view returns what a join needs to know of f.
func (r *registry) view(f *found) (v view) {
	if v.walls = r.walls(f); !v.walls.Known() {
		return v
	}
	v.boot, v.probes = bootOf(f.host.boot), f.host.probes
	if f.process != nil {
		v.process, v.runtime, v.inside = f.process, f.process.runtime, f.process.inside()
		v.cgroups = f.process.cgroups
	}
	if f.target != nil {
		v.target, v.pid = f.target.runtime[stall.TargetWatch], f.target.outer
	}
	return v
}

// passed reports whether every source that is alive has passed t: those of the
// machine, and those of the process. The span that ends at t has waited for so long, so
// it is no later than that: a sender that says that it is makes no other silent.
func (f *found) passed(t stall.Instant, waited time.Duration) bool {
	now := min(f.latest(), t+stall.Instant(waited))
	if now < t {
		return false
	}
	late := func(l *senders.Log) bool {
		return l != nil && l.Heard+senders.SilentAfter >= now && l.Watermark() < t
	}
	for _, p := range f.host.probes {
		if late(p.Log) {
			return false
		}
	}
	for _, p := range [...]*logs{f.process.logs(), f.target.logs()} {
		if p == nil {
			continue
		}
		for _, l := range p {
			if late(l) {
				return false
			}
		}
	}
	return true
}

func (p *process) logs() *logs {
	if p == nil {
		return nil
	}
	return &p.runtime
}

// complete reports whether nothing more is to come about the spans of h, which was
// looked for.
func (r *registry) complete(h *held) bool {
	f := &h.found
	if f.host == nil || f.process == nil && f.target == nil && !f.over {
		return false // a status may be on its way
	}
	w := r.walls(f)
	t, slack, ok := w.Instant(h.end)
	return ok && f.passed(t.Add(slack), r.clock-h.since)
}
