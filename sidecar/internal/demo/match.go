package demo

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

// matcher finds the service's window of a request by its arrival, extends it to
// the client's receipt, and subtracts what was the load generator's.
type matcher struct {
	answers []load.Answer
	account *account
	window  []int32 // by answer; -1 if the service gave no account of it

	joiner stall.Joiner
	pauses intervals // of the collector
	others intervals // stops that were not of a collection
	denied intervals // what the machine did to the service's threads
	place  *stall.Place
	active []stall.Span // when a collection was under way: merged
	near   []stall.Interval
	refs   []uint64
}

// match decodes every window once. An arrival identifies its request; windows of
// other arrivals are those that opened connections.
func match(answers []load.Answer, a *account, f *followed) (*matcher, error) {
	m := &matcher{
		answers: answers, account: a, window: make([]int32, len(answers)), place: f.place, active: stall.Union(a.active),
		pauses: sorted(a.pauses), others: sorted(a.others), denied: sorted(f.denied),
	}
	for i := range m.window {
		m.window[i] = -1
	}
	for i, text := range a.windows {
		var s stall.Share
		w, err := decodeWindow(text, &s)
		if err != nil {
			return nil, fmt.Errorf("read window of service: %w", err)
		}
		k := sort.Search(len(answers), func(k int) bool { return answers[k].Arrival >= w.Arrival })
		if k < len(answers) && answers[k].Arrival == w.Arrival {
			m.window[k] = int32(i)
		}
	}
	return m, nil
}

// matched reports whether the service gave account of request k.
func (m *matcher) matched(k int) bool { return m.window[k] >= 0 }

// look fills in the case of request k.
func (m *matcher) look(k int, c *blame.Case) {
	answer := &m.answers[k]
	c.Arrival, c.Latency = answer.Arrival, answer.Latency()
	if !m.matched(k) {
		c.Share = stall.Share{Total: c.Latency, Unseen: c.Latency}
		c.Known = c.Latency
		return
	}
	w, err := decodeWindow(m.account.windows[m.window[k]], &c.Share)
	if err != nil {
		return // match has decoded it before
	}
	c.Known = c.Share.Total
	there := stall.Span{Start: answer.Arrival, End: w.Start}
	late := answer.Late().Clip(there)
	back := stall.Span{Start: w.End, End: max(w.End, answer.Back())}
	// The way back to the client is queue, but for the runtime's stops in it and for
	// what the machine did.
	more := m.join(back)
	more.Covered = 0 // coverage is of the service's own part
	blame.Add(&c.Share, &more)
	// The load generator has what is queue of the time in which it was late to send,
	// and all in which the answer lay there unread.
	unsent := m.join(late)
	unread := max(0, answer.Receipt.Sub(back.End))
	queue := min(unsent.Charged[stall.Queue], c.Share.Charged[stall.Queue])
	c.Share.Charged[stall.Queue] -= queue
	c.Share.Total += unread
	c.Generator = queue + unread

	m.count(stall.Span{Start: answer.Arrival, End: w.End}, back, c)
	c.QueueDuringGC = min(c.Share.Charged[stall.Queue], m.collecting(there)-m.collecting(late)+m.collecting(back))
	c.ArrivedDuringGC = m.collecting(stall.Span{Start: there.Start, End: there.Start + 1}) > 0
}

// join returns the share of a time in which the request was not in its handler.
func (m *matcher) join(way stall.Span) (s stall.Share) {
	if way.Empty() {
		return s
	}
	m.near = append(m.near[:0], m.pauses.near(way)...)
	if others := m.others.near(way); len(others) > 0 {
		m.near = append(m.near, others...)
		slices.SortFunc(m.near, byStart)
	}
	w := stall.Window{Start: way.Start, End: way.Start, Receipt: way.End, Place: m.place}
	m.joiner.Join(&w, &stall.Evidence{Process: m.near, Host: m.denied.near(way)}, &s)
	return s
}

// count counts the collections that delayed the request: those that the service
// counted until the handler's end, and of those with a pause on the way back the ones
// that it did not, because the goroutine was parked in their earlier pauses. A pause is
// on the way back if any of it is certain to lie there.
func (m *matcher) count(handled, back stall.Span, c *blame.Case) {
	n := c.Share.Collections
	if c.Share.GC() > 0 {
		m.refs = m.refs[:0]
		first, last := m.pauses.touching(back)
		for i := first; i < last; i++ {
			p := &m.pauses.list[i]
			if p.Certain(back).Empty() || slices.Contains(m.refs, p.Ref) {
				continue
			}
			m.refs = append(m.refs, p.Ref)
			if p.Ref > c.Share.LastCollection {
				n++
			}
		}
		n = max(n, 1)
	}
	c.Collections, c.Share.Collections = n, n
	// Every collection of a Go process is of one kind.
	c.FullBlocking = n > 0 && m.account.blocking
	c.OneStop = n > 1 && m.shareStop(stall.Span{Start: handled.Start, End: back.End})
}

// shareStop reports whether two collections have the same stop in s.
func (m *matcher) shareStop(s stall.Span) bool {
	list := m.pauses.near(s)
	for i := 1; i < len(list); i++ {
		p, q := &list[i-1], &list[i]
		if p.Span() == q.Span() && p.Ref != q.Ref && !p.Certain(s).Empty() {
			return true
		}
	}
	return false
}

// collecting returns how much of s a collection was under way.
func (m *matcher) collecting(s stall.Span) (sum time.Duration) {
	i := sort.Search(len(m.active), func(i int) bool { return m.active[i].End > s.Start })
	for ; i < len(m.active) && m.active[i].Start < s.End; i++ {
		sum += m.active[i].Clip(s).Duration()
	}
	return sum
}

// paused returns how much of s the collector stopped the service. A pause whose
// place is less certain than s is long proves nothing.
func (m *matcher) paused(s stall.Span) (sum time.Duration) {
	for _, v := range m.pauses.near(s) {
		if v.Slack < s.Duration() {
			sum += v.Span().Clip(s).Duration()
		}
	}
	return sum
}

// intervals are sorted by their start, so that those near a span are found.
type intervals struct {
	list    []stall.Interval
	longest time.Duration // how far the longest of them reaches
}

func byStart(x, y stall.Interval) int { return cmp.Compare(x.Start, y.Start) }

// sorted returns the intervals of list, which it sorts.
func sorted(list []stall.Interval) intervals {
	slices.SortStableFunc(list, byStart)
	v := intervals{list: list}
	for i := range list {
		v.longest = max(v.longest, list[i].Duration()+2*list[i].Slack)
	}
	return v
}

// near returns the intervals that may touch s.
func (v *intervals) near(s stall.Span) []stall.Interval {
	first, last := v.touching(s)
	return v.list[first:last]
}

// touching returns the range of the intervals that may touch s.
func (v *intervals) touching(s stall.Span) (first, last int) {
	from := s.Start.Add(-v.longest)
	first = sort.Search(len(v.list), func(i int) bool { return v.list[i].Start >= from })
	last = first
	for last < len(v.list) && v.list[last].Start.Add(-v.list[last].Slack) < s.End {
		last++
	}
	return first, last
}

// outsideGaps keeps what the probe outside of the service saw.
type outsideGaps struct {
	mu   sync.Mutex
	list []stall.Span // of at least coincidence
}

// coincidence is the shortest gap outside that can be behind one of reportedGap
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

// attribute counts which gaps of the probe in the service are the collector's,
// and which fell together with a gap outside.
func (o *outsideGaps) attribute(m *matcher) blame.Inside {
	o.mu.Lock()
	defer o.mu.Unlock()
	in := blame.Inside{Mode: m.account.hello.ProbeMode, Over50us: len(m.account.gaps)}
	for i := range m.account.gaps {
		gap := m.account.gaps[i].Span()
		// Gaps of one CPU come in order and do not overlap each other.
		k := sort.Search(len(o.list), func(k int) bool { return o.list[k].End > gap.Start })
		switch {
		case 2*m.paused(gap) >= gap.Duration():
			in.GC++
		case k < len(o.list) && o.list[k].Start < gap.End:
			in.Coincident++
		default:
			in.Other++
		}
	}
	return in
}
