package dotnetgc

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Stop is one stop-the-world, for whatever reason. An instant that was not seen
// is zero.
type Stop struct {
	Reason SuspendReason
	Thread uint64 // that stopped the world
	// Begin to RestartEnd are the events that mark it. The world stands still
	// from Suspended to RestartBegin, and threads are being stopped from Begin
	// on.
	Begin        stall.Instant // GCSuspendEEBegin
	Suspended    stall.Instant // GCSuspendEEEnd
	RestartBegin stall.Instant // GCRestartEEBegin
	RestartEnd   stall.Instant // GCRestartEEEnd
	// BackOffs is how often the thread gave up and let the world run, for the
	// debugger's sake, before it stopped it. Resumed is the last time that it
	// did: the stop is counted from there.
	BackOffs int
	Resumed  stall.Instant
	// Blocked is when the last stop of another thread was over for which this one
	// waited: Begin is fired before the lock is taken. The stop is counted from
	// there: what was before is the other's.
	Blocked stall.Instant
	// Collections are the indexes of those that ran in it.
	Collections []uint64
	// Incomplete says what was not seen; empty if all was.
	Incomplete string
}

// Start returns when the stop begins to count: at Begin, or after the last time
// that the thread backed off or another's stop was over.
func (s *Stop) Start() stall.Instant { return max(s.Begin, s.Resumed, s.Blocked) }

// latest returns the last that was seen of the stop.
func (s *Stop) latest() stall.Instant {
	return max(s.Start(), s.Suspended, s.RestartBegin, s.RestartEnd)
}

// Duration returns how long the world was being stopped and stood still.
func (s *Stop) Duration() time.Duration { return max(0, s.RestartBegin.Sub(s.Start())) }

// Interval returns the stop as the join wants it.
func (s *Stop) Interval() stall.Interval {
	v := stall.Interval{Start: s.Start(), End: s.RestartBegin, Cause: stall.RuntimeSuspension, Origin: stall.Dotnet}
	if s.Reason.IsGC() {
		v.Cause = stall.GCPause
	}
	if len(s.Collections) > 0 {
		v.Ref = s.Collections[0]
	}
	return v
}

// pause returns the stop as a pause.
func (s *Stop) pause() gc.Pause {
	p := gc.Pause{Start: s.Start(), End: s.RestartBegin, EndMax: max(s.RestartBegin, s.RestartEnd)}
	if s.Suspended >= p.Start {
		p.Suspend = gc.Known(s.Suspended.Sub(p.Start))
	}
	return p
}

// over reports whether all that can be seen of the stop was.
func (s *Stop) over() bool { return s.RestartEnd != 0 || s.Incomplete != "" }

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

// openStop is a stop that is being followed.
type openStop struct {
	Stop
	backing bool // its thread backs off: the next GCRestartEEEnd ends that
	lossy   bool // events were lost in it: another collection may have begun
	ran     []*collection
}

// empty reports whether the stop was for a collection, was seen whole, and had
// none in it. So begins a no-GC region for which there is room: the runtime
// counts a collection, and does not make it (runtime, src/coreclr/gc/
// interface.cpp, GarbageCollectGeneration, update_collection_counts_for_no_gc).
// GC.RefreshMemoryLimit stops the world so, too, and counts none.
func (s *openStop) empty() bool {
	return s.Reason == ForGC && len(s.ran) == 0 && !s.lossy && s.Incomplete == ""
}

// enter notes that c runs in s. What has too many of the other is given up.
func (m *Model) enter(c *collection, s *openStop) {
	switch {
	case len(c.stops) == maxStopsOfCollection:
		m.stats.Dropped++
		c.tooMany = true
		m.finish(c)
		return
	case len(s.ran) == maxCollectionsOfStop:
		m.stats.Dropped++
		s.Incomplete = "too many collections began in it"
		m.endStop(s)
		return
	}
	c.stops = append(c.stops, s)
	s.ran = append(s.ran, c)
	c.lossy = c.lossy || s.lossy
	s.Collections = append(s.Collections, c.number)
}

// pauses returns the stops, or parts of stops, that are charged to c.
func (c *collection) pauses() []gc.Pause {
	var list []gc.Pause
	for _, s := range c.stops {
		if p, charged := s.pauseOf(c); charged {
			list = append(list, p)
		}
	}
	return list
}

// pauseOf returns what of s is charged to a collection: all of it, but nothing
// to a background one that has others with it, as the runtime itself has it
// (runtime, src/coreclr/gc/collect.cpp, add_bgc_pause_duration_0). Several
// others, of which all but the first are PMFullGC, share it: each begins where
// the next one starts.
func (s *openStop) pauseOf(c *collection) (gc.Pause, bool) {
	if s.RestartBegin == 0 {
		return gc.Pause{}, false
	}
	charged := slices.DeleteFunc(slices.Clone(s.ran), func(o *collection) bool { return o.typ == BackgroundGC })
	if len(charged) == 0 {
		charged = s.ran[len(s.ran)-1:]
	}
	at := slices.Index(charged, c)
	if at < 0 {
		return gc.Pause{}, false
	}
	p := s.pause()
	if at > 0 {
		p.Start, p.Suspend = charged[at].start, gc.Maybe[time.Duration]{}
	}
	if at < len(charged)-1 {
		p.End = charged[at+1].start
		p.EndMax = p.End
	}
	return p, true
}
