package gotrace

import "github.com/otelgc/otelgc/stall"

// layer lays the states of one goroutine end to end.
type layer struct {
	at, end stall.Instant
	cur     followed // the state since at
	next    TrackSpan
	begun   bool // next is a span, which the state after it may prolong
}

// lay yields the spans of a track.
func (t *Track) lay(yield func(TrackSpan) bool) {
	l := layer{at: t.extent.Start, end: t.extent.End, cur: t.before}
	for _, i := range t.picked {
		change := t.d.transitions.at(i)
		if change.change().isStatus() {
			l.cur = l.cur.told(t.d.after(change))
			continue
		}
		if !l.until(t.d.clock.instant(change.at), yield) {
			return
		}
		l.cur = t.d.after(change)
	}
	if l.until(l.end, yield) && l.begun {
		yield(l.next)
	}
}

// last returns what is known when the generation ends.
func (t *Track) last() followed {
	cur := t.before
	if last := t.d.transitions.at(t.picked[len(t.picked)-1]); !last.change().isStatus() {
		return t.d.after(last)
	}
	for _, i := range t.picked { // one or two
		if change := t.d.transitions.at(i); change.change().isStatus() {
			cur = cur.told(t.d.after(change))
		} else {
			cur = t.d.after(change)
		}
	}
	return cur
}

// after returns the state in which a change leaves the goroutine.
func (d *decoder) after(t *transition) followed {
	c := t.change()
	next := followed{known: true, state: stateAfter[c]}
	switch {
	case c.inSyscall():
		next.reason = reasonSyscall
	case c == blocked || c == stopped:
		next.reason = d.text(t.reason())
	}
	return next
}

// told takes an EvGoStatus: the state since the generation began. What the
// generation before knew is kept where it does not contradict, since a status
// has no reason.
func (f followed) told(status followed) followed {
	if !f.known || f.state != status.state {
		return status
	}
	return f
}

// until ends the current state at t. Instants that run backwards are moved to
// where they cannot overlap: the order of the changes is certain, the clocks of
// two CPUs may not be.
func (l *layer) until(t stall.Instant, yield func(TrackSpan) bool) bool {
	t = min(max(t, l.at), l.end)
	start := l.at
	l.at = t
	if !l.cur.known || l.cur.state == stall.StateUnknown || t == start {
		return true
	}
	if l.begun && l.next.End == start && l.next.State == l.cur.state && l.next.Reason == l.cur.reason {
		l.next.End = t
		return true
	}
	if l.begun && !yield(l.next) {
		return false
	}
	l.begun = true
	l.next = TrackSpan{
		StateSpan: stall.StateSpan{Start: start, End: t, State: l.cur.state},
		Reason:    l.cur.reason,
		GCWait:    isGCWait(l.cur.reason) && l.cur.state == stall.StateParked,
	}
	return true
}
