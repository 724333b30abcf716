package demo

import (
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// count says which collections delayed the request: those that the service
// counted until the handler's end, and of those that have a pause on the way back
// the ones that it did not, as the goroutine was parked in their pauses before. A
// pause is on the way back if any of it is certain to lie there.
func (m *matcher) count(handled, way stall.Span, c *blame.Case) {
	n := c.Share.Collections
	if c.Share.GC() > 0 {
		m.ids = m.ids[:0]
		first, last := m.stops.touching(way)
		for i := first; i < last; i++ {
			p := &m.account.pauses[i]
			if m.stops.list[i].Certain(way).Empty() || slices.Contains(m.ids, p.collection) {
				continue
			}
			m.ids = append(m.ids, p.collection)
			if !m.counted(i, c.Share.LastCollection) {
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

// counted reports whether the service counted the collection of pause i, where the
// last that it counted began then: after the collection before had ended. When one
// began is told by its first pause, the place of which may be an estimate.
func (m *matcher) counted(i int, then stall.Instant) bool {
	pauses := m.account.pauses
	of := pauses[i].collection
	for i >= 0 && pauses[i].collection == of {
		i--
	}
	return then != 0 && (i < 0 || then > pauses[i].End)
}

// shareStop reports whether two collections have the same stop in s.
func (m *matcher) shareStop(s stall.Span) bool {
	first, last := m.stops.touching(s)
	for i := first + 1; i < last; i++ {
		p, q := &m.account.pauses[i-1], &m.account.pauses[i]
		if p.span() == q.span() && p.collection != q.collection && !m.stops.list[i-1].Certain(s).Empty() {
			return true
		}
	}
	return false
}

func (p *pause) span() stall.Span { return stall.Span{Start: p.Start, End: p.End} }

// collecting returns how much of s a collection was under way.
func (m *matcher) collecting(s stall.Span) (sum time.Duration) {
	i := sort.Search(len(m.active), func(i int) bool { return m.active[i].End > s.Start })
	for ; i < len(m.active) && m.active[i].Start < s.End; i++ {
		sum += m.active[i].Clip(s).Duration()
	}
	return sum
}
