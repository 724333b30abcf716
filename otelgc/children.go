package otelgc

import (
	"math"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// maxChildren bounds the joined goroutines that count in one window, in the
// order in which they joined, in one piece of it. Those beyond are an overflow.
const maxChildren = 64

// child is a goroutine that joined a window for a while, or until [notLeft].
type child struct {
	goroutine uint64
	stall.Span
}

const notLeft = stall.Instant(math.MaxInt64)

// followChildren lays the states of goroutines that joined the window, and what
// the collector and the scheduler did to them, over the time that the window's
// own goroutine was parked: then the window waits for what stalls them. S is the
// part of the window that is settled, and by who had joined before.
func (b *traceStore) followChildren(e *stall.Evidence, slot int16, s stall.Span, by *carrier) {
	b.learnChildren(slot, s, by)
	for _, c := range by.children {
		if c.goroutine != by.goroutine {
			b.stepIn(e, child{c.goroutine, c.Span.Clip(s)})
		}
	}
	by.overflow.hide(e)
	by.children = slices.DeleteFunc(by.children, func(c child) bool { return c.End != notLeft })
}

// learnChildren brings up to date who has joined and left during s. In a time
// that nobody watched all may have left, unless it is known of each that it
// leaves a mark.
func (b *traceStore) learnChildren(slot int16, s stall.Span, by *carrier) {
	seen := s.Start
	for _, c := range b.live {
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		if c.span.Start > seen {
			b.loseChildren(slot, seen, by)
		}
		seen = c.span.End
		b.overflowed += by.learn(c.marks.joins.of(slot, s), func(j mark) stall.Instant { return c.taken(j, s) })
		by.bury(c)
	}
	if seen < s.End {
		b.loseChildren(slot, seen, by)
	}
}

// learn takes in who joined, each taken from when it says, or left, and returns how
// many do not count.
func (by *carrier) learn(joins []mark, from func(mark) stall.Instant) (over uint64) {
	for _, j := range joins {
		switch {
		case j.kind == gotrace.WindowLeave && !leave(by.children, j):
			by.overflow.leave(j.at)
		case j.kind == gotrace.WindowLeave:
		case len(by.children) < maxChildren:
			by.children = append(by.children, child{j.goroutine, stall.Span{Start: from(j), End: notLeft}})
		default:
			by.overflow.join(j.at)
			over++
		}
	}
	return over
}

// bury has children leave that ended without a word. They are waited for no longer.
func (by *carrier) bury(c *generation) {
	for i := range by.children {
		if child := &by.children[i]; child.End == notLeft {
			if end, ok := c.endOf(child.goroutine); ok {
				child.End = max(end, child.Start)
			}
		}
	}
}

func (b *traceStore) loseChildren(slot int16, at stall.Instant, by *carrier) {
	if b.slots.ChildrenKnown(slot) {
		return
	}
	for i := range by.children {
		if c := &by.children[i]; c.End == notLeft {
			c.End = at
			by.overflow.lost++
		}
	}
	by.overflow.disperse(at)
}

// leave reports whether the child is one of those that count.
func leave(children []child, j mark) bool {
	for i := range slices.Backward(children) {
		if children[i].goroutine == j.goroutine && children[i].End == notLeft {
			children[i].End = j.at
			return true
		}
	}
	return false
}

// stepIn replaces the parked stretches of the window's track by what the child
// did in them.
func (b *traceStore) stepIn(e *stall.Evidence, c child) {
	old := slices.Clone(e.Track)
	e.Track = e.Track[:0]
	for _, t := range old {
		part := stall.Span{Start: t.Start, End: t.End}.Clip(c.Span)
		if t.State != stall.StateParked || part.Empty() || waitsForGC(e.Own, t) {
			e.Track = append(e.Track, t)
			continue
		}
		e.Track = appendState(e.Track, t.Start, part.Start, stall.StateParked)
		at := b.appendChild(e, c.goroutine, part)
		e.Track = appendState(e.Track, at, t.End, stall.StateParked)
	}
}

// waitsForGC reports whether the stretch is a wait for the collector, which is
// charged as it is.
func waitsForGC(own []stall.Interval, t stall.StateSpan) bool {
	return slices.ContainsFunc(own, func(v stall.Interval) bool {
		return v.Cause == stall.GCWait && v.Start < t.End && t.Start < v.End
	})
}

// appendChild adds the states of a goroutine within s, during which it worked for the
// window, and returns how far they reach. Where it was not followed, or something of
// it is missing, what the window waited for is not known: that is unseen, and not the
// window's own waiting.
func (b *traceStore) appendChild(e *stall.Evidence, goroutine uint64, s stall.Span) stall.Instant {
	at := s.Start
	for _, c := range b.live {
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		for t := c.track(goroutine, s); t.next(); {
			v := t.span().Clip(stall.Span{Start: at, End: s.End})
			if v.Empty() {
				continue
			}
			e.Track = appendState(e.Track, v.Start, v.End, t.state.state)
			e.Own = appendOwn(e.Own, &t.state, v, c.workers)
			at = v.End
		}
		for _, r := range c.assistsOf(goroutine, s) {
			v := r.interval()
			if part := v.Span().Clip(s); !part.Empty() {
				e.Own = append(e.Own, own(part.Start, part.End, v.Cause))
			}
		}
		e.Own = c.appendSelfStops(e.Own, goroutine, s)
		at = max(at, min(c.span.End, s.End))
	}
	return at
}

// appendOwn adds what a state of a goroutine says of the collector and the
// scheduler, within s.
func appendOwn(to []stall.Interval, t *state, s stall.Span, workers []stall.Span) []stall.Interval {
	switch {
	case t.gcWait:
		return append(to, own(s.Start, s.End, stall.GCWait))
	case t.held:
		return append(to, own(s.Start, s.End, stall.RuntimeUnknown))
	case t.state == stall.StateRunnable:
		return appendSched(to, s, workers)
	}
	return to
}

// appendState adds a state. A goroutine that is parked when a generation ends,
// and goes on to be in the next, has not woken in between.
func appendState(to []stall.StateSpan, start, end stall.Instant, state stall.State) []stall.StateSpan {
	if start >= end {
		return to
	}
	if n := len(to); n > 0 && state == stall.StateParked && to[n-1].State == state && to[n-1].End == start {
		to[n-1].End = end
		return to
	}
	return append(to, stall.StateSpan{Start: start, End: end, State: state})
}
