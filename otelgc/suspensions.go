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

// keptSuspensions is how many stops Suspensions can look back on.
const keptSuspensions = 1024

// Suspension is one stop of the world that was not for garbage collection.
type Suspension struct {
	// Index is 1 for the first that became known since Start. They become known
	// nearly in the order of time.
	Index uint64
	stall.Interval
	// Reason is the runtime's own, such as "read mem stats"; "unknown" with
	// fidelity cycle, which knows the stop only within its Slack.
	Reason string
	// Caller is the function that asked for the stop, empty if it is not known:
	// "runtime.ReadMemStats < main.agent", the runtime's entry first.
	Caller   string
	Fidelity stall.Fidelity
}

// suspended keeps the newest stops that are not of a collection.
type suspended struct {
	mu   sync.Mutex
	ring []Suspension // of keptSuspensions, oldest overwritten
	n    uint64       // ever added
}

func (r *suspended) add(s Suspension) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	s.Index = r.n
	if len(r.ring) < keptSuspensions {
		r.ring = append(r.ring, s)
	} else {
		r.ring[(r.n-1)%keptSuspensions] = s
	}
}

// tellSuspended tells of a stop whose fidelity is known.
func (m *Monitor) tellSuspended(s Suspension) {
	if s.Reason == "" {
		s.Reason = "unknown"
	}
	m.tel.Suspension(s.Interval, s.Reason, s.Caller, s.Fidelity)
	m.suspended.add(s)
}

// tellUnknown tells of a stop of which nobody knows the reason.
func (m *Monitor) tellUnknown(v stall.Interval) {
	m.tellSuspended(Suspension{Interval: v, Fidelity: stall.Cycle})
}

// Suspensions returns the stops of the world since Start that were not for
// garbage collection and whose Index is above after, oldest first, and how many
// of those are kept no longer. Call it with the Index of the last one that you
// have. Up to 1024 are kept. A stop is there when its fidelity is settled: up to
// three seconds after it.
func (m *Monitor) Suspensions(after uint64) (list []Suspension, dropped uint64) {
	if m == nil {
		return nil, 0
	}
	r := &m.suspended
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := max(r.n, keptSuspensions) - keptSuspensions
	if after < oldest {
		dropped, after = oldest-after, oldest
	}
	for i := after; i < r.n; i++ {
		list = append(list, r.ring[i%keptSuspensions])
	}
	return list, dropped
}
