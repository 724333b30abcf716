package otelgc

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

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

// reportStop reports a suspension whose fidelity is known.
func (m *Monitor) reportStop(s Suspension) {
	if s.Reason == "" {
		s.Reason = "unknown"
	}
	m.tel.Suspension(s.Interval, s.Reason, s.Caller, s.Fidelity)
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	s.Index = m.records.suspensions.n + 1
	m.records.suspensions.add(s)
}

func callerOf(s *gotrace.Stop) string {
	if s.Entry != "" && s.Entry != s.Caller {
		return s.Entry + " < " + s.Caller
	}
	return s.Caller
}

// reportUnknown reports a suspension without its reason.
func (m *Monitor) reportUnknown(v stall.Interval) {
	m.reportStop(Suspension{Interval: v, Fidelity: stall.Cycle})
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
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	r := &m.records.suspensions
	if oldest := r.oldest(); after < oldest {
		dropped, after = oldest-after, oldest
	}
	for i := after; i < r.n; i++ {
		list = append(list, *r.at(i))
	}
	return list, dropped
}
