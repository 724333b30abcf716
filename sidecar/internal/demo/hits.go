package demo

import (
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// count says which collections delayed the request: those that the service
// counted until the handler's end, and those that have a pause only on the way
// back.
func (m *matcher) count(handled, way stall.Span, c *blame.Case) {
	n := c.Share.Collections
	if c.Share.GC() > 0 {
		before := m.collections(m.ids[0][:0], handled)
		after := m.collections(m.ids[1][:0], way)
		m.ids = [2][]uint64{before, after}
		for _, id := range after {
			if n == 0 || !slices.Contains(before, id) {
				n++
			}
		}
		n = max(n, 1)
	}
	c.Collections, c.Share.Collections = n, n
	// Every collection of a Go process is of one kind.
	c.FullBlocking = n > 0 && m.blocking
	c.OneStop = n > 1 && m.shareStop(stall.Span{Start: handled.Start, End: way.End})
}

// collections appends the collections that have a pause in s, in order.
func (m *matcher) collections(to []uint64, s stall.Span) []uint64 {
	first, last := m.pauses(s)
	for i := first; i < last; i++ {
		p := &m.account.pauses[i]
		if !p.span().Clip(s).Empty() && !slices.Contains(to, p.collection) {
			to = append(to, p.collection)
		}
	}
	return to
}

// shareStop reports whether two collections have the same stop in s.
func (m *matcher) shareStop(s stall.Span) bool {
	first, last := m.pauses(s)
	for i := first + 1; i < last; i++ {
		p, q := &m.account.pauses[i-1], &m.account.pauses[i]
		if p.span() == q.span() && p.collection != q.collection && !p.span().Clip(s).Empty() {
			return true
		}
	}
	return false
}

func (p *pause) span() stall.Span { return stall.Span{Start: p.Start, End: p.End} }

// underway says how much of the request's queue lies in a collection, at most:
// the way to the handler and the way back are not told apart from other stalls
// in them.
func (m *matcher) underway(there, back stall.Span, c *blame.Case) {
	c.QueueDuringGC = min(c.Share.Charged[stall.Queue], m.collecting(there)+m.collecting(back))
	arrival := stall.Span{Start: there.Start, End: there.Start + 1}
	c.ArrivedDuringGC = m.collecting(arrival) > 0
}

// collecting returns how much of s a collection was under way.
func (m *matcher) collecting(s stall.Span) (sum time.Duration) {
	i := sort.Search(len(m.active), func(i int) bool { return m.active[i].End > s.Start })
	for ; i < len(m.active) && m.active[i].Start < s.End; i++ {
		sum += m.active[i].Clip(s).Duration()
	}
	return sum
}

// merged returns the union of spans, in order.
func merged(spans []stall.Span) (union []stall.Span) {
	slices.SortFunc(spans, func(a, b stall.Span) int { return compare(a.Start, b.Start) })
	for _, s := range spans {
		if n := len(union); n > 0 && s.Start <= union[n-1].End {
			union[n-1].End = max(union[n-1].End, s.End)
			continue
		}
		union = append(union, s)
	}
	return union
}
