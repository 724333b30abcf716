package demo

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// matcher finds the service's account of a request by its arrival, extends it to
// the client's receipt, and tells what of it was the load generator's.
type matcher struct {
	answers []load.Answer
	account *account
	window  []int32 // by answer; -1 if the service gave no account of it

	joiner stall.Joiner
	stops  intervals // of the collector, as account.pauses
	others intervals // stops that were not of a collection
	denied intervals // what the machine did to the service's threads
	place  *stall.Place
	near   []stall.Interval // memory of join

	blocking bool         // the collections of the service are full and blocking
	active   []stall.Span // when one was under way: merged
	ids      []uint64     // memory of count
}

// match decodes every window once. An arrival is its request's name, so what
// does not fit any is not of this run.
func match(answers []load.Answer, a *account, f *followed) (*matcher, error) {
	m := &matcher{answers: answers, account: a, window: make([]int32, len(answers)), place: f.place}
	for i := range m.window {
		m.window[i] = -1
	}
	for i := range a.at {
		var w stall.Window
		var s stall.Share
		if err := a.window(i, &w, &s); err != nil {
			return nil, fmt.Errorf("read account of request: %w", err)
		}
		k := sort.Search(len(answers), func(k int) bool { return answers[k].Arrival >= w.Arrival })
		if k < len(answers) && answers[k].Arrival == w.Arrival {
			m.window[k] = int32(i)
		}
	}
	slices.SortFunc(a.pauses, func(x, y pause) int { return cmp.Compare(x.Start, y.Start) })
	var stops []stall.Interval
	for _, p := range a.pauses {
		m.blocking = m.blocking || p.kind == gc.FullBlocking
		stops = append(stops, stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Origin: stall.GoTrace})
	}
	m.stops, m.others, m.denied = sorted(stops), sorted(a.others), sorted(f.denied)
	m.active = stall.Union(a.active)
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
	var w stall.Window
	if m.account.window(int(m.window[k]), &w, &c.Share) != nil {
		return // match has decoded it before
	}
	c.Known = c.Share.Total
	there := stall.Span{Start: answer.Arrival, End: w.Start}
	late := answer.Late().Clip(there)
	way := stall.Span{Start: w.End, End: max(w.End, answer.Back())}
	m.extend(way, &c.Share)
	m.generator(late, stall.Span{Start: way.End, End: max(way.End, answer.Receipt)}, c)
	m.count(stall.Span{Start: answer.Arrival, End: w.End}, way, c)
	c.QueueDuringGC = min(c.Share.Charged[stall.Queue], m.collecting(there)-m.collecting(late)+m.collecting(way))
	c.ArrivedDuringGC = m.collecting(stall.Span{Start: there.Start, End: there.Start + 1}) > 0
}

// extend adds the way from the handler's end to the client: queue, but for the
// stops that the runtime had in it, and for what the machine did.
func (m *matcher) extend(way stall.Span, s *stall.Share) {
	more := m.join(way)
	more.Covered = 0 // coverage is of the service's own part
	blame.Add(s, &more)
}

// generator gives the load generator its part: what is queue of the time in which
// it was late to send, and all in which the answer lay there unread.
func (m *matcher) generator(late, unread stall.Span, c *blame.Case) {
	unsent := m.join(late)
	queue := min(unsent.Charged[stall.Queue], c.Share.Charged[stall.Queue])
	c.Share.Charged[stall.Queue] -= queue
	c.Share.Total += unread.Duration()
	c.Generator = queue + unread.Duration()
}

// join returns who had a time in which the request was not in its handler.
func (m *matcher) join(way stall.Span) (s stall.Share) {
	if way.Empty() {
		return s
	}
	m.near = append(m.near[:0], m.stops.near(way)...)
	if others := m.others.near(way); len(others) > 0 {
		m.near = append(m.near, others...)
		slices.SortFunc(m.near, func(x, y stall.Interval) int { return cmp.Compare(x.Start, y.Start) })
	}
	w := stall.Window{Start: way.Start, End: way.Start, Receipt: way.End, Place: m.place}
	m.joiner.Join(&w, &stall.Evidence{Process: m.near, Host: m.denied.near(way)}, &s)
	return s
}
