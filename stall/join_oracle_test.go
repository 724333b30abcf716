package stall

import (
	"slices"
	"time"
)

// oracle is the join as its definition reads, decided instant by instant with
// no thought of speed. Every instant of the window and of the evidence has to
// be a multiple of unit.
func oracle(w *Window, e *Evidence, unit time.Duration) Share {
	var s Share
	if w.End < w.Start {
		return s
	}
	extent := w.Extent()
	s.Total = extent.End.Sub(extent.Start)
	for t := extent.Start; t < extent.End; t = t.Add(unit) {
		o := instant{w, e, extent, t}
		o.count(&s, unit)
	}
	for _, v := range e.Process {
		if v.Cause == GCPause && v.Start < v.End && v.Start < extent.End && v.End > extent.Start && s.Total > 0 {
			s.Pauses++
		}
		if v.Cause == GCPause && v.Ref == 0 && delayed(w, e, v, extent, unit) {
			s.Collections++
		}
	}
	if s.Unseen == 0 && s.Covered == s.Total {
		s.Fidelity = Exact
	}
	return s
}

// delayed reports whether a window was delayed by the pause v, as far as that is
// certain.
func delayed(w *Window, e *Evidence, v Interval, extent Span, unit time.Duration) bool {
	for t := extent.Start; t < extent.End; t = t.Add(unit) {
		if o := (instant{w, e, extent, t}); o.certain(v) && !o.asleep() && !o.ran() {
			return true
		}
	}
	return false
}

type instant struct {
	w      *Window
	e      *Evidence
	extent Span
	t      Instant
}

func (o instant) count(s *Share, unit time.Duration) {
	for c := HostThrottled; c <= HostUnknown; c++ {
		if o.host(c, func(v Interval) bool { return !o.applies(v) && o.in(v.Start, v.End) }) {
			s.Coincident[c] += unit
		}
	}
	if o.inSpans(o.e.Seen) {
		s.Covered += unit
	}
	charged := o.charged()
	switch {
	case charged != NoCause:
		s.Charged[charged] += unit
		for c := HostThrottled; c <= HostUnknown; c++ {
			if c != charged && o.host(c, func(v Interval) bool { return o.applies(v) && o.certain(v) }) {
				s.HostDuring[c] += unit
			}
		}
		return
	case o.doubtful():
		s.Uncertain += unit
		return
	}
	for _, c := range []Cause{GCPause, RuntimeSuspension, RuntimeUnknown} {
		if (o.asleep() || o.ran()) && o.stops(c, o.certain) {
			s.Overlapped[c] += unit
		}
	}
	switch handler := o.in(o.w.Start, o.w.End); {
	case !handler:
		s.Charged[Queue] += unit
	case !o.inSpans(o.e.Seen):
		s.Unseen += unit
	case o.state(StateRunning) && o.inSpans(o.e.TargetSeen):
		s.App += unit
	case o.state(StateRunning):
		s.AppOrHost += unit
	case o.state(StateRunnable):
		s.Charged[Sched] += unit
	case o.state(StateParked):
		s.App += unit
	default:
		s.Unseen += unit
	}
}

// charged walks the order of claims.
func (o instant) charged() Cause {
	byTarget, byHost := NoCause, NoCause
	if !o.asleep() {
		for c := HostUnknown; c >= HostThrottled; c-- {
			if o.host(c, func(v Interval) bool { return o.applies(v) && v.Scope == ScopeTarget && o.certain(v) }) {
				byTarget = c
			}
			if o.host(c, func(v Interval) bool { return o.applies(v) && v.Scope != ScopeTarget && o.certain(v) }) {
				byHost = c
			}
		}
	}
	stop := func(c Cause) bool { return !o.asleep() && !o.ran() && o.stops(c, o.certain) }
	own := func(c Cause) bool { return o.any(o.e.Own, c, o.certain) }
	switch {
	case stop(GCPause):
		return GCPause
	case stop(RuntimeSuspension):
		return RuntimeSuspension
	case own(GCAssist) && byTarget == NoCause:
		return GCAssist
	case own(GCSweep) && byTarget == NoCause:
		return GCSweep
	case own(GCWait):
		return GCWait
	case byTarget != NoCause:
		return byTarget
	case own(SchedGC):
		return SchedGC
	case own(Sched):
		return Sched
	case byHost != NoCause:
		return byHost
	case stop(RuntimeUnknown):
		return RuntimeUnknown
	}
	return NoCause
}

func (o instant) doubtful() bool {
	nominal := func(v Interval) bool { return o.in(v.Start, v.End) }
	for c := GCAssist; c <= Sched; c++ {
		if o.any(o.e.Own, c, nominal) {
			return true
		}
	}
	for _, c := range []Cause{GCPause, RuntimeSuspension, RuntimeUnknown} {
		if !o.asleep() && !o.ran() && o.stops(c, nominal) {
			return true
		}
		if o.asleep() && o.any(o.e.Process, c, func(v Interval) bool { return nominal(v) && o.wokeAt(v) }) {
			return true
		}
	}
	for c := HostThrottled; c <= HostUnknown; c++ {
		if !o.asleep() && o.host(c, func(v Interval) bool { return o.applies(v) && nominal(v) }) {
			return true
		}
	}
	return false
}

// wokeAt reports whether the parking of this instant ended in stop v or soon
// after.
func (o instant) wokeAt(v Interval) bool {
	return slices.ContainsFunc(o.e.Track, func(p StateSpan) bool {
		return p.State == StateParked && o.in(p.Start, p.End) && p.End <= v.End.Add(max(0, v.Slack)+50*time.Microsecond)
	})
}

func (o instant) in(start, end Instant) bool { return start <= o.t && o.t < end }

func (o instant) inSpans(list []Span) bool {
	return slices.ContainsFunc(list, func(s Span) bool { return o.in(s.Start, s.End) })
}

func (o instant) state(want State) bool {
	return slices.ContainsFunc(o.e.Track, func(p StateSpan) bool { return p.State == want && o.in(p.Start, p.End) })
}

func (o instant) asleep() bool {
	return o.in(o.w.Start, o.w.End) && o.state(StateParked) && !o.state(StateRunning) && !o.state(StateRunnable)
}

// ran reports whether the goroutine was on a CPU and did not itself stop the world.
func (o instant) ran() bool {
	stops := func(c Cause) bool {
		return o.any(o.e.Own, c, func(v Interval) bool { return o.in(v.Start, v.End) })
	}
	return o.in(o.w.Start, o.w.End) && o.state(StateRunning) && !o.state(StateRunnable) && !o.state(StateParked) &&
		!stops(GCPause) && !stops(RuntimeSuspension)
}

// stops reports whether the process, or the goroutine alone, was stopped for c.
func (o instant) stops(c Cause, is func(Interval) bool) bool {
	return o.any(o.e.Process, c, is) || c == RuntimeUnknown && o.any(o.e.Own, c, is)
}

func (o instant) any(list []Interval, c Cause, is func(Interval) bool) bool {
	return slices.ContainsFunc(list, func(v Interval) bool { return v.Cause == c && is(v) })
}

func (o instant) host(c Cause, is func(Interval) bool) bool { return o.any(o.e.Host, c, is) }

func (o instant) applies(v Interval) bool {
	p := o.w.Place
	return v.Scope == ScopeMachine ||
		p != nil && v.Scope == ScopeCgroup && v.Owner.Cgroup > 0 && slices.Contains(p.Cgroups, v.Owner.Cgroup) ||
		p != nil && v.Scope == ScopeTarget && v.Owner.PID != 0 && v.Owner.PID == p.PID && v.Owner.Created == p.Created
}

func (o instant) certain(v Interval) bool {
	slack := max(0, v.Slack)
	if v.Start.Add(-slack) >= o.extent.Start && v.End.Add(slack) <= o.extent.End {
		return o.in(v.Start, v.End)
	}
	return o.in(v.Start.Add(slack), v.End.Add(-slack))
}
