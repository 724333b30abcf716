package dotnetgc

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// suspendBegin begins a stop on a thread.
func (m *Model) suspendBegin(thread uint64, reason SuspendReason, at stall.Instant) {
	if o := m.stopOf(thread); o != nil {
		m.unmatched(o)
	}
	if len(m.stops) == maxOpenStops {
		m.stats.Dropped++
		m.giveUpStop(m.stops[0])
	}
	s := &openStop{Stop: Stop{Reason: reason, Thread: thread, Begin: at}}
	m.stops = append(m.stops, s)
	if reason == ForGCPrep {
		if c := m.background(); c != nil {
			m.enter(c, s)
		}
	}
}

// unmatched counts an event that does not follow what was seen of its thread's
// stop. That is over, if there is one: the event is of another.
func (m *Model) unmatched(o *openStop) {
	m.stats.Unmatched++
	if o != nil {
		m.giveUpStop(o)
	}
}

func (m *Model) suspendEnd(thread uint64, at stall.Instant) {
	o := m.stopOf(thread)
	if o == nil || o.Suspended != 0 {
		m.unmatched(o)
		return
	}
	if o.backing { // the end of it was not seen
		o.backOff(at)
	}
	o.Suspended = at
	// Another thread's GCStart of the same tick may come first.
	for i := 0; i < len(m.open); i++ {
		if c := m.open[i]; len(c.stops) == 0 && c.start == at && o.Reason == ForGC {
			m.enter(c, o)
		}
	}
}

// backOff notes that the thread let the world run until at, at the latest.
func (s *openStop) backOff(at stall.Instant) {
	s.backing = false
	s.BackOffs++
	s.Resumed = at
}

func (m *Model) restartBegin(thread uint64, at stall.Instant) {
	o := m.stopOf(thread)
	switch {
	case o == nil || o.RestartBegin != 0:
		m.unmatched(o)
	case o.Suspended == 0:
		o.backing = true
	default:
		o.RestartBegin = at
		m.unblock(o)
	}
}

func (m *Model) restartEnd(thread uint64, at stall.Instant) {
	o := m.stopOf(thread)
	switch {
	case o == nil:
		m.unmatched(o)
	case o.backing:
		o.backOff(at)
	case o.RestartBegin == 0:
		m.unmatched(o)
	default:
		o.RestartEnd = at
		m.endStop(o)
	}
}

// unblock notes in the stops that wait for the lock that s is over.
func (m *Model) unblock(s *openStop) {
	for _, o := range m.stops {
		if o != s && o.Suspended == 0 {
			o.Blocked = max(o.Blocked, s.RestartBegin)
		}
	}
}

// giveUpStop ends a stop of which the rest was not seen.
func (m *Model) giveUpStop(o *openStop) {
	switch {
	case o.Suspended == 0:
		o.Incomplete = "GCSuspendEEEnd was not seen"
	case o.RestartBegin == 0:
		o.Incomplete = "GCRestartEEBegin was not seen"
	default:
		o.Incomplete = "GCRestartEEEnd was not seen"
	}
	m.endStop(o)
}

// eventsOfStop is how many events a stop has at least.
const eventsOfStop = 4

// lostInStops notes that a thread lost events while the world was being stopped
// or stood still. Where another whole stop can be among them, what comes next
// need not be of the one that is open.
func (m *Model) lostInStops(thread, n uint64) {
	for _, s := range m.stops {
		s.lossy = true
	}
	if s := m.stopOf(thread); s != nil && (n >= eventsOfStop || s.Suspended == 0) {
		m.giveUpStop(s)
	}
}

// endStop hands out a stop. One whose end is not known is a hole.
func (m *Model) endStop(s *openStop) {
	m.stops = slices.DeleteFunc(m.stops, func(o *openStop) bool { return o == s })
	if s.RestartBegin == 0 {
		m.hole(s.Begin, m.now, "a stop "+s.Reason.String()+": "+s.Incomplete)
		m.finishReady()
		return
	}
	if s.Reason.IsGC() {
		m.paused += s.Duration()
		m.pausedUntil = max(m.pausedUntil, s.RestartBegin)
	}
	if s.empty() {
		m.counted++
	}
	m.handOutStop(s.Stop)
	m.finishReady()
}

func (m *Model) stopOf(thread uint64) *openStop {
	for _, s := range m.stops {
		if s.Thread == thread {
			return s
		}
	}
	return nil
}

// standing returns the stop in which the world stands still, nil if there is
// none.
func (m *Model) standing() *openStop {
	var found *openStop
	for _, s := range m.stops {
		if s.RestartBegin == 0 && s.Suspended != 0 && (found == nil || s.Suspended > found.Suspended) {
			found = s
		}
	}
	return found
}
