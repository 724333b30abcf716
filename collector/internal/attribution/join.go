package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// longestSpan is what a span may last: what claims more has no time that can be
// related to the clock.
const longestSpan = 7 * 24 * time.Hour

// mostWindows is for how many spans of one resource a joiner keeps the memory.
const mostWindows = 8192

// outcome is what becomes of one span.
type outcome struct {
	share    *stall.Share
	kind     gc.Kind  // the gravest of its collections
	own      *carried // the share, where it is that of its own process
	coverage float64
	odd      bool // the span has times that cannot be
}

// watched reports whether anybody can say that no collection delayed the span: who
// watched its runtime, or its own process. Where nobody did, one may still be known.
func (o *outcome) watched() bool { return o.own != nil || o.coverage > 0 || o.share.GC() > 0 }

// attribute joins the spans of h, and returns what there is to tell of them.
func (a *Attributor) attribute(j *joiner, h *held, v *view) (told plog.Logs) {
	told = plog.NewLogs()
	w := writer{a: a, j: j, h: h, told: told, inside: v.inside, pid: h.id.number}
	if w.pid == 0 && v.process != nil {
		w.pid = v.process.id.number
	}
	resource := h.spans.Resource().Attributes()
	if text(resource, semconv.AttrBootID) == "" {
		w.boot = v.boot
	}
	if !v.walls.known() {
		w.unknown()
	} else {
		w.joined(v)
	}
	if h.batch == nil {
		a.sums.add(serviceOf(resource), &j.sums)
	}
	return told
}

// joined concludes spans of a host that is known.
func (w *writer) joined(v *view) {
	j := w.j
	j.put(v, w.h.spans)
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
		j.windows, j.bare = nil, nil
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
			s.Fidelity = stall.Cycle // nothing is unseen, and nobody was exact
		}
		if own := w.brought(win.span, s.Total); own != nil {
			own.gain(s)
			o.bring(own, s.Total)
			if own.Collections > 0 {
				o.kind = j.pauses.gravest(win.Extent())
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
	for _, ss := range w.h.spans.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			w.conclude(&window{span: s}, w.unseen(s))
		}
	}
}

// brought returns the share that a span of that length brought, nil if it brought
// none, or one that cannot be.
func (w *writer) brought(s ptrace.Span, length time.Duration) *carried {
	own := &w.j.brought
	if !own.read(s.Attributes()) {
		return nil
	}
	if !own.believable(length) {
		w.a.lost.disbelieved.Add(1)
		return nil
	}
	return own
}

// bring makes the share of a span of that length the one that it brought.
func (o *outcome) bring(own *carried, length time.Duration) {
	own.complete(length)
	o.share, o.own = &own.Share, own
	if own.coverage >= 0 {
		o.coverage = own.coverage
	}
}

// duration returns the length of a span; zero, and false, if it makes no sense.
func duration(s ptrace.Span) (time.Duration, bool) {
	d := time.Duration(clamp(s.EndTimestamp()) - clamp(s.StartTimestamp()))
	if d < 0 || d > longestSpan || s.EndTimestamp() > farthest {
		return 0, false
	}
	return d, true
}

// clamp returns Unix ns; a time behind the year 2116 is at its end.
func clamp(t pcommon.Timestamp) int64 { return int64(min(uint64(t), farthest)) }
