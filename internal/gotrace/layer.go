package gotrace

import "github.com/otelgc/otelgc/stall"

// layer lays the states of one goroutine end to end.
type layer struct {
	d       *decoder
	at, end stall.Instant
	cur     followed // the state since at
	next    TrackSpan
	begun   bool // next is a span, which the state after it may prolong

	away *away // nil if the goroutine has not switched to a coroutine yet
}

// lay yields the spans of a track.
func (t *Track) lay(yield func(TrackSpan) bool) {
	l := t.layer()
	l.lay(t, yield)
}

func (t *Track) layer() layer {
	return layer{d: t.d, at: t.extent.Start, end: t.extent.End, cur: t.before}
}

func (l *layer) lay(t *Track, yield func(TrackSpan) bool) {
	l.leave(t, nobodyYet)
	for _, place := range t.picked {
		change := l.d.transitions.at(place)
		c := change.change()
		if c.isStatus() {
			l.told(change)
			continue
		}
		if !l.over(l.d.clock.instant(change.at), c, yield) {
			return
		}
		if l.cur = l.d.after(change); l.away != nil {
			l.away.on = false
		}
		if c == switchedAway {
			l.leave(t, place)
		}
	}
	// Behind all: the last of a coroutine may be the generation's last.
	if l.over(l.end+1, isRunning, yield) && l.begun {
		yield(l.next)
	}
}

// told takes an EvGoStatus of the goroutine. One whose place a coroutine has
// waits.
func (l *layer) told(status *transition) {
	switch {
	case l.away == nil || !l.away.on:
		l.cur = l.cur.told(l.d.after(status))
	case status.change() != isWaiting:
		l.away.on = false
		l.cur = l.d.after(status)
	}
}

// over ends at t the time between two changes of the goroutine.
func (l *layer) over(t stall.Instant, by change, yield func(TrackSpan) bool) bool {
	switch {
	case l.away != nil && l.away.on:
		return l.coroutines(t, yield)
	case by == switchedTo:
		l.cur = followed{} // it waited for a coroutine, nobody knows for which
	}
	return l.until(t, yield)
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
		next.turn = c == blocked && next.reason == reasonSync && d.waitsToCollect(t.stack())
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
	l.next = TrackSpan{StateSpan: stall.StateSpan{Start: start, End: t, State: l.cur.state}, Reason: l.cur.reason}
	if l.cur.state == stall.StateParked {
		l.next.GCWait, l.next.Held = l.d.parkedFor(l.cur.reason, start)
		l.next.GCWait = l.next.GCWait || l.cur.turn
	}
	return true
}
