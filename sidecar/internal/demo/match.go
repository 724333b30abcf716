package demo

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

// matcher finds the service's account of a request by its arrival, and extends
// it to the client's receipt.
type matcher struct {
	answers []load.Answer
	account *account
	window  []int32 // by answer; -1 if the service gave no account of it

	longest time.Duration // the longest reach of a pause
	joiner  stall.Joiner
	stops   []stall.Interval
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
		m.stops = append(m.stops, stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Source: stall.GoTrace})
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
	c.Collections = m.collections(stall.Span{Start: answer.Arrival, End: answer.Receipt})
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
	m.extend(w.End, answer.Receipt, &c.Share)
}

// extend adds the time from the handler's end to the client's receipt: queue,
// but for the pauses that the collector had in it.
func (m *matcher) extend(end, receipt stall.Instant, s *stall.Share) {
	if receipt <= end {
		return
	}
	w := stall.Window{Start: end, End: end, Receipt: receipt}
	first, last := m.pauses(stall.Span{Start: end, End: receipt})
	var way stall.Share
	m.joiner.Join(&w, &stall.Evidence{Process: m.stops[first:last]}, &way)
	way.Covered = 0 // coverage is of the service's own part
	blame.Add(s, &way)
}

// pauses returns the range of the pauses that may touch s.
func (m *matcher) pauses(s stall.Span) (first, last int) {
	from := s.Start.Add(-m.longest)
	first = sort.Search(len(m.stops), func(i int) bool { return m.stops[i].Start >= from })
	last = first
	for last < len(m.stops) && m.stops[last].Start.Add(-m.stops[last].Slack) < s.End {
		last++
	}
	return first, last
}

// collections returns how many collections stopped the service in s.
func (m *matcher) collections(s stall.Span) int {
	n, previous := 0, ^uint64(0)
	first, last := m.pauses(s)
	for i := first; i < last; i++ {
		if p := &m.account.pauses[i]; !p.span().Clip(s).Empty() && p.collection != previous {
			n, previous = n+1, p.collection
		}
	}
	return n
}

func (p *pause) span() stall.Span { return stall.Span{Start: p.Start, End: p.End} }
