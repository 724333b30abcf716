package demo

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// heldUp is when the slow requests that the collector held up were in their handlers.
// Others may have waited for their turn because of that; that they would not have waited
// otherwise is not known.
type heldUp struct {
	above time.Duration // a latency: slow requests took longer
	one   []stall.Span  // when at least one of them was in its handler: in order, apart
	two   []stall.Span  // when at least two were
}

// slowAbove returns p90 of the answers.
func slowAbove(answers []load.Answer) time.Duration {
	if len(answers) == 0 {
		return 0
	}
	all := make([]time.Duration, len(answers))
	for i := range answers {
		all[i] = answers[i].Latency()
	}
	slices.Sort(all)
	return all[textfmt.Rank(900, len(all))-1]
}

// has reports whether a request is one of them: it is slow, and the collector had at least
// a tenth as much of its time as it was in its handler.
func (h *heldUp) has(answer *load.Answer, w *window) bool {
	gc := w.GC()
	return gc > 0 && 10*gc >= w.End.Sub(w.Start) && answer.Latency() > h.above
}

// set sets when they were in their handlers, each once. It sorts spans.
func (h *heldUp) set(spans []stall.Span) {
	slices.SortFunc(spans, func(a, b stall.Span) int { return cmp.Compare(a.Start, b.Start) })
	var two []stall.Span
	var end stall.Instant // of all spans before
	for _, s := range spans {
		two = append(two, stall.Span{Start: s.Start, End: min(s.End, end)}) // may be empty
		end = max(end, s.End)
	}
	h.one, h.two = stall.Union(spans), stall.Union(two)
}

// others returns when others than the request were in their handlers, of the time in which
// it was in its own.
func (h *heldUp) others(answer *load.Answer, w *window) []stall.Span {
	if h.has(answer, w) {
		return h.two
	}
	return h.one
}

// lookBehind fills in how much of what the case is charged for waiting for its turn others
// were held up. When in its handler it waited for a CPU is not known here.
func (h *heldUp) lookBehind(c *blame.Case, answer *load.Answer, w *window, there, late, back stall.Span) {
	queue := within(h.one, there) - within(h.one, late) + within(h.one, back)
	c.QueueBehindGC = min(c.Share.Charged[stall.Queue], queue)
	sched := within(h.others(answer, w), stall.Span{Start: w.Start, End: w.End})
	c.SchedBehindGC = min(c.Share.Charged[stall.Sched]+c.Share.Charged[stall.SchedGC], sched)
}

// behind returns how much of its pieces a request waited for its turn while others were held
// up.
func (h *heldUp) behind(pieces []stall.Piece, answer *load.Answer, w *window) (sum time.Duration) {
	others := h.others(answer, w)
	for _, p := range pieces {
		span := stall.Span{Start: p.Start, End: p.End}
		switch stall.Cause(p.Part) {
		case stall.Queue:
			sum += within(h.one, span)
		case stall.Sched, stall.SchedGC:
			sum += within(others, span)
		}
	}
	return sum
}

// within returns how much of s is in list, whose spans are in order and apart.
func within(list []stall.Span, s stall.Span) (sum time.Duration) {
	i := sort.Search(len(list), func(i int) bool { return list[i].End > s.Start })
	for ; i < len(list) && list[i].Start < s.End; i++ {
		sum += list[i].Clip(s).Duration()
	}
	return sum
}
