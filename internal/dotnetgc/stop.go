package dotnetgc

import (
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
