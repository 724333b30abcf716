package otelgc

import (
	"fmt"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// kept is how many records, of collections or of stops, can be looked back on.
const kept = 1024

// newest holds what was added last.
type newest[T any] struct {
	ring []T    // of kept, oldest overwritten
	n    uint64 // ever added
}

func (r *newest[T]) add(v T) {
	if len(r.ring) < kept {
		r.ring = append(r.ring, v)
	} else {
		*r.at(r.n) = v
	}
	r.n++
}

// oldest returns the number of the oldest that is held; that of the first is 0.
func (r *newest[T]) oldest() uint64 { return max(r.n, kept) - kept }

func (r *newest[T]) at(i uint64) *T { return &r.ring[i%kept] }

// records keeps what is known of the newest collections and other stops.
type records struct {
	mu          sync.Mutex
	collections newest[gc.Collection]
	suspensions newest[Suspension]
	last        [gc.NumKinds]gc.Collection
	sum         Session
}

func (r *records) add(c *gc.Collection) {
	kept := c.Clone()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collections.add(kept)
	if c.Kind < gc.NumKinds {
		r.last[c.Kind] = kept
		r.sum.Cycles[c.Kind] += uint64(c.Cycles)
	}
	r.sum.PauseTotal += c.PauseTotal()
}

// slowed says which collection with a pause of which any is certain to lie in s the
// machine made pause long, the longest of them; empty if none.
func (r *records) slowed(s stall.Span) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var longest *gc.Collection
	for i := range r.collections.ring {
		c := &r.collections.ring[i]
		if c.SlowedBy == gc.NotSlowed || longest != nil && c.PauseTotal() <= longest.PauseTotal() {
			continue
		}
		for _, p := range c.Pauses {
			v := stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack}
			if !v.Certain(s).Empty() {
				longest = c
			}
		}
	}
	if longest == nil {
		return ""
	}
	return fmt.Sprintf("; collection %d was slowed by %s", longest.Index, longest.Slowed())
}

// Last returns the record of the newest collection of a kind, so that a reader that looks
// once a minute still sees the last full blocking one. It reports false if
// there was none since Start. A record is there when its fidelity is settled:
// up to three seconds after the collection.
func (m *Monitor) Last(kind gc.Kind) (gc.Collection, bool) {
	if m == nil || kind >= gc.NumKinds {
		return gc.Collection{}, false
	}
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	c := m.records.last[kind]
	return c.Clone(), c.Cycles > 0
}

// Collections returns the records of all collections since Start whose Index is
// above after, oldest first, and how many of those are kept no longer. Call it
// with the Index of the last record that you have. Up to 1024 are kept.
func (m *Monitor) Collections(after uint64) (list []gc.Collection, dropped uint64) {
	if m == nil {
		return nil, 0
	}
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	r := &m.records.collections
	oldest := uint64(0)
	for i := r.oldest(); i < r.n; i++ {
		c := r.at(i)
		if first := c.Index + 1 - uint64(c.Cycles); oldest == 0 || first < oldest {
			oldest = first
		}
		if c.Index > after {
			list = append(list, c.Clone())
		}
	}
	if from := max(after, m.cycles.first); oldest > from+1 {
		dropped = oldest - from - 1
	}
	return list, dropped
}

// Session holds sums since [Start]. Two of them subtract to the figures of a
// run.
type Session struct {
	Cycles         [gc.NumKinds]uint64 // collections by kind
	PauseTotal     time.Duration       // sum of their pauses
	AllocatedBytes gc.Bytes
	GCCPU          time.Duration // CPU time of garbage collection, as of the newest cycle's end
}

// Sub returns what came between o and s.
func (s Session) Sub(o Session) Session {
	for k := range s.Cycles {
		s.Cycles[k] -= o.Cycles[k]
	}
	s.PauseTotal -= o.PauseTotal
	s.AllocatedBytes -= o.AllocatedBytes
	s.GCCPU -= o.GCCPU
	return s
}

// Collections returns the number of collections of all kinds.
func (s Session) Collections() uint64 {
	var n uint64
	for _, c := range s.Cycles {
		n += c
	}
	return n
}

// Session returns the sums as of now. Collections whose record is not settled
// yet are not in them; see [Monitor.Flush].
func (m *Monitor) Session() Session {
	if m == nil {
		return Session{}
	}
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	return m.records.sum
}

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
