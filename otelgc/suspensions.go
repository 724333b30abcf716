package otelgc

import (
	"math"
	"slices"
	"sync"

	"github.com/otelgc/otelgc/stall"
)

// suspensions holds the stops that are not for the collector until it is known
// whether the exact source saw them: it tells of them with reason and caller,
// and each stop is told once.
type suspensions struct {
	store *traceStore

	mu      sync.Mutex
	held    []stall.Interval
	near    []stall.Interval
	matched stall.Instant // start of the last exact one that was held too
	lost    loss          // over mostHeld, not yet told
}

// hold keeps the stops that the watcher saw. Where one lies it knows only within
// the slack.
func (s *suspensions) hold(list []stall.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range list {
		if v.Cause == stall.RuntimeSuspension {
			s.held = append(s.held, v)
		}
	}
	if over := len(s.held) - mostHeld; over > 0 {
		for i := range s.held[:over] {
			s.lost.add(1, reachOf(&s.held[i]))
		}
		s.held = slices.Delete(s.held, 0, over)
	}
}

// takeLost returns the stops that were not kept since the last call.
func (s *suspensions) takeLost() loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.lost
	s.lost = loss{}
	return lost
}

// reachOf is where a stop may lie.
func reachOf(v *stall.Interval) stall.Span {
	return stall.Span{Start: v.Start.Add(-v.Slack), End: v.End.Add(v.Slack)}
}

// settle yields the stops that nobody else tells of.
func (s *suspensions) settle(now stall.Instant, yield func(stall.Interval)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	watermark := s.store.log.Watermark()
	n := 0
	for ; n < len(s.held); n++ {
		v := &s.held[n]
		reach := reachOf(v)
		late := len(s.held)-n > maxHeld || now.Sub(reach.End) > sourceDeadline
		if watermark < reach.End && !late {
			break
		}
		if !s.seen(reach) {
			yield(*v)
		}
	}
	s.held = slices.Delete(s.held, 0, n)
}

// told is how far every stop has been told, or left to the exact source.
func (s *suspensions) told() stall.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := stall.Instant(math.MaxInt64)
	for i := range s.held {
		told = min(told, s.held[i].Start.Add(-s.held[i].Slack))
	}
	return told
}

// seen reports whether the exact source saw the stop that lies in reach. At the
// edge of a slice, where it watched for a part of it, it did if it has one that
// no other stop stands for.
func (s *suspensions) seen(reach stall.Span) bool {
	watched := s.store.log.Coverage(reach)
	if watched == 0 {
		return false
	}
	s.near = s.store.log.Intervals(s.near[:0], reach)
	for i := range s.near {
		v := &s.near[i]
		if v.Cause == stall.RuntimeSuspension && v.Start > s.matched {
			s.matched = v.Start
			return true
		}
	}
	return watched == 1
}
