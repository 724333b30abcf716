package demo

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// matcher finds the service's account of a request by its arrival, and extends
// it to the client's receipt.
type matcher struct {
	answers []load.Answer
	account *account
	window  []int32 // by answer; -1 if the service gave no account of it

	longest time.Duration // the longest reach of a pause
	joiner  stall.Joiner
	stops   []stall.Interval // of the collector, as account.pauses
	onWay   []stall.Interval // all that may touch the way back

	blocking bool         // the collections of the service are full and blocking
	active   []stall.Span // when one was under way: merged
	ids      [2][]uint64  // memory of count
}

// match decodes every window once. An arrival is its request's name, so what
// does not fit any is not of this run.
func match(answers []load.Answer, a *account) (*matcher, error) {
	m := &matcher{answers: answers, account: a, window: make([]int32, len(answers))}
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
	slices.SortFunc(a.pauses, func(x, y pause) int { return compare(x.Start, y.Start) })
	for _, p := range a.pauses {
		m.longest = max(m.longest, p.Duration()+2*p.Slack)
		m.blocking = m.blocking || p.kind == gc.FullBlocking
		m.stops = append(m.stops, stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Source: stall.GoTrace})
	}
	m.active = merged(a.active)
	slices.SortFunc(a.others, func(x, y stall.Interval) int { return compare(x.Start, y.Start) })
	for i := range a.others {
		m.longest = max(m.longest, a.others[i].Duration()+2*a.others[i].Slack)
	}
	return m, nil
}

func compare(a, b stall.Instant) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
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
	way := stall.Span{Start: w.End, End: max(w.End, answer.Receipt)}
	m.extend(way, &c.Share)
	m.count(stall.Span{Start: answer.Arrival, End: w.End}, way, c)
	m.underway(stall.Span{Start: answer.Arrival, End: w.Start}, way, c)
}

// extend adds the way from the handler's end to the client's receipt: queue, but
// for the stops that the runtime had in it.
func (m *matcher) extend(way stall.Span, s *stall.Share) {
	if way.Empty() {
		return
	}
	w := stall.Window{Start: way.Start, End: way.Start, Receipt: way.End}
	m.onWay = append(m.onWay[:0], m.near(m.stops, way)...)
	if others := m.near(m.account.others, way); len(others) > 0 {
		m.onWay = append(m.onWay, others...)
		slices.SortFunc(m.onWay, func(x, y stall.Interval) int { return compare(x.Start, y.Start) })
	}
	var more stall.Share
	m.joiner.Join(&w, &stall.Evidence{Process: m.onWay}, &more)
	more.Covered = 0 // coverage is of the service's own part
	blame.Add(s, &more)
}

// pauses returns the range of the pauses that may touch s.
func (m *matcher) pauses(s stall.Span) (first, last int) { return m.touching(m.stops, s) }

// near cuts a list of stops to those that may touch s.
func (m *matcher) near(list []stall.Interval, s stall.Span) []stall.Interval {
	first, last := m.touching(list, s)
	return list[first:last]
}

func (m *matcher) touching(list []stall.Interval, s stall.Span) (first, last int) {
	from := s.Start.Add(-m.longest)
	first = sort.Search(len(list), func(i int) bool { return list[i].Start >= from })
	last = first
	for last < len(list) && list[last].Start.Add(-list[last].Slack) < s.End {
		last++
	}
	return first, last
}
