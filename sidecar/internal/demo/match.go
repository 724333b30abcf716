package demo

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

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
	stops  *stall.Log // of the service's world; the Ref is of the collection, if it is a pause
	denied *stall.Log // what the machine did to the service's threads
	place  *stall.Place
	active []stall.Span // when a collection was under way: merged
	held   heldUp
	drawn  map[stall.Instant]drawn // by arrival
	near   []stall.Interval
	host   []stall.Interval
}

// match decodes every window once. An arrival identifies its request; windows of
// other arrivals are those that opened connections.
func match(answers []load.Answer, a *account, f *followed) (*matcher, error) {
	m := &matcher{
		answers: answers, account: a, window: make([]int32, len(answers)), place: f.place,
		stops: logOf(a.stops), denied: logOf(f.denied), drawn: map[stall.Instant]drawn{},
	}
	var active []stall.Span
	for _, c := range a.active {
		active = append(active, c.Active)
	}
	m.active = stall.Union(active)
	for _, d := range a.drawn {
		m.drawn[d.Arrival] = d
	}
	for i := range m.window {
		m.window[i] = -1
	}
	m.held.above = slowAbove(answers)
	var held []stall.Span
	for i, text := range a.windows {
		w, err := decodeWindow(text)
		if err != nil {
			return nil, fmt.Errorf("read window of service: %w", err)
		}
		k, found := slices.BinarySearchFunc(answers, w.Arrival, func(a load.Answer, t stall.Instant) int { return cmp.Compare(a.Arrival, t) })
		if found {
			m.window[k] = int32(i)
			if m.held.has(&answers[k], w) {
				held = append(held, stall.Span{Start: w.Start, End: w.End})
			}
		}
	}
	m.held.set(held)
	return m, nil
}

// logOf returns a log that holds all of list, which it sorts.
func logOf(list []stall.Interval) *stall.Log {
	slices.SortStableFunc(list, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	l := stall.NewLog(stall.NoOrigin, len(list), 1)
	for _, v := range list {
		l.Add(v)
	}
	return l
}

// matched reports whether the service gave account of request k.
func (m *matcher) matched(k int) bool { return m.window[k] >= 0 }

// windowOf returns the window of request k, which is matched.
func (m *matcher) windowOf(k int) *window {
	w, err := decodeWindow(m.account.windows[m.window[k]])
	if err != nil {
		return new(window) // match has decoded it before
	}
	return w
}

// look fills in the case of request k.
func (m *matcher) look(k int, c *blame.Case) {
	answer := &m.answers[k]
	c.Arrival, c.Latency = answer.Arrival, answer.Latency()
	if !m.matched(k) {
		c.Share = stall.Share{Total: c.Latency, Unseen: c.Latency}
		c.Known = c.Latency
		return
	}
	w := m.windowOf(k)
	c.Share = w.Share
	c.Known = c.Share.Total
	there := stall.Span{Start: answer.Arrival, End: w.Start}
	late := answer.Late().Clip(there)
	back := stall.Span{Start: w.End, End: max(w.End, answer.Back())}
	// The way back to the client is queue, but for the runtime's stops in it and for
	// what the machine did. A collection that delayed the handler too counts once.
	// Coverage and fidelity are of the service's own part.
	own := c.Share
	m.extend(&c.Share, back)
	c.Share.Covered, c.Share.Fidelity = own.Covered, own.Fidelity
	// The load generator has what is queue of the time in which it was late to send,
	// and all in which the answer lay there unread.
	var unsent stall.Share
	m.extend(&unsent, late)
	unread := max(0, answer.Receipt.Sub(back.End))
	queue := min(unsent.Charged[stall.Queue], c.Share.Charged[stall.Queue])
	c.Share.Charged[stall.Queue] -= queue
	c.Share.Total += unread
	c.Generator = queue + unread

	// Every collection of a Go process is of one kind.
	c.FullBlocking = c.Share.Collections > 0 && m.account.blocking
	c.OneStop = c.Share.Collections > 1 && m.shareStop(stall.Span{Start: answer.Arrival, End: back.End})
	c.QueueDuringGC = min(c.Share.Charged[stall.Queue], within(m.active, there)-within(m.active, late)+within(m.active, back))
	c.ArrivedDuringGC = within(m.active, stall.Span{Start: there.Start, End: there.Start + 1}) > 0
	m.held.lookBehind(c, answer, w, there, late, back)
}

// extend adds to s the share of a time in which the request was not in its handler.
func (m *matcher) extend(s *stall.Share, way stall.Span) {
	if !way.Empty() {
		w := m.way(way)
		m.joiner.Extend(w, &stall.Evidence{Process: m.near, Host: m.host}, s)
	}
}

// way returns a time in which the request was not in its handler as a window, and has what
// happened then in m.near and m.host.
func (m *matcher) way(s stall.Span) *stall.Window {
	m.near, m.host = m.stops.Intervals(m.near[:0], s), m.denied.Intervals(m.host[:0], s)
	return &stall.Window{Start: s.Start, End: s.Start, Receipt: s.End, Place: m.place}
}

// shareStop reports whether two collections have the same stop in s.
func (m *matcher) shareStop(s stall.Span) bool {
	m.near = m.stops.Intervals(m.near[:0], s)
	for i := 1; i < len(m.near); i++ {
		p, q := &m.near[i-1], &m.near[i]
		if p.Cause == stall.GCPause && p.Span() == q.Span() && p.Ref != q.Ref && !p.Certain(s).Empty() {
			return true
		}
	}
	return false
}

// paused returns how much of s the collector stopped the service. A pause whose
// place is less certain than s is long proves nothing.
func (m *matcher) paused(s stall.Span) (sum time.Duration) {
	m.near = m.stops.Intervals(m.near[:0], s)
	for _, v := range m.near {
		if v.Cause == stall.GCPause && v.Slack < s.Duration() {
			sum += v.Span().Clip(s).Duration()
		}
	}
	return sum
}

// outsideGaps are those that the probe outside of the service saw, of at least
// coincidence.
type outsideGaps []stall.Interval

// coincidence is the shortest gap outside that can be behind one of reportedGap
// inside.
const coincidence = 20 * time.Microsecond

func (o *outsideGaps) add(gaps []stall.Interval) {
	for i := range gaps {
		if g := &gaps[i]; g.Duration() >= coincidence && len(*o) < maxGaps {
			*o = append(*o, *g)
		}
	}
}

// attribute counts which gaps of the probe in the service are the collector's,
// and which fell together with a gap outside.
func (o outsideGaps) attribute(m *matcher) blame.Inside {
	in := blame.Inside{Mode: m.account.hello.ProbeMode, Over50us: len(m.account.gaps)}
	for i := range m.account.gaps {
		gap := m.account.gaps[i].Span()
		// Gaps of one CPU come in order and do not overlap each other.
		k := sort.Search(len(o), func(k int) bool { return o[k].End > gap.Start })
		switch {
		case 2*m.paused(gap) >= gap.Duration():
			in.GC++
		case k < len(o) && o[k].Start < gap.End:
			in.Coincident++
		default:
			in.Other++
		}
	}
	return in
}
