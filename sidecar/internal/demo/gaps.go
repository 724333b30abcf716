package demo

import (
	"sort"
	"sync"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// outsideGaps keeps what the probe beside the service saw.
type outsideGaps struct {
	mu   sync.Mutex
	list []stall.Span // of at least coincidence
}

// coincidence is the shortest gap outside that can be behind one of 50 us
// inside.
const coincidence = 20 * time.Microsecond

func (o *outsideGaps) add(g jitterprobe.Gap) {
	if g.Duration() < coincidence {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) < maxGaps {
		o.list = append(o.list, stall.Span{Start: g.Start, End: g.End})
	}
}

// attribute tells which gaps of the probe in the service are the collector's,
// and which fell together with a gap outside.
func (o *outsideGaps) attribute(m *matcher) blame.Inside {
	o.mu.Lock()
	defer o.mu.Unlock()
	in := blame.Inside{Mode: m.account.hello.ProbeMode, Over50us: len(m.account.gaps)}
	for i := range m.account.gaps {
		gap := m.account.gaps[i].Span()
		switch {
		case 2*m.paused(gap) >= gap.Duration():
			in.GC++
		case o.overlaps(gap):
			in.Coincident++
		default:
			in.Other++
		}
	}
	return in
}

// paused returns how much of s the collector stopped the service. A pause whose
// place is less certain than s is long proves nothing.
func (m *matcher) paused(s stall.Span) time.Duration {
	var sum time.Duration
	first, last := m.stops.touching(s)
	for i := first; i < last; i++ {
		if v := &m.stops.list[i]; v.Slack < s.Duration() {
			sum += v.Span().Clip(s).Duration()
		}
	}
	return sum
}

// overlaps reports whether a gap outside overlaps s. Gaps of one CPU come in
// order and do not overlap each other.
func (o *outsideGaps) overlaps(s stall.Span) bool {
	i := sort.Search(len(o.list), func(i int) bool { return o.list[i].End > s.Start })
	return i < len(o.list) && o.list[i].Start < s.End
}
