package otelgc

import (
	"sync"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

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

func callerOf(s *gotrace.Stop) string {
	if s.Entry != "" && s.Entry != s.Caller {
		return s.Entry + " < " + s.Caller
	}
	return s.Caller
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
