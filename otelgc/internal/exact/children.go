package exact

import (
	"math"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/evidence"
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

// followChildren replaces the time in which the window's own goroutine was parked by the
// states of the goroutines that joined the window, and adds what the collector and the
// scheduler did to them: the window waits for what stalls them. S is the piece of the
// window.
func (b *Store) followChildren(e *stall.Evidence, slot int16, s stall.Span, by *Carrier) {
	b.learnChildren(slot, s, by)
	for _, c := range by.children {
		if c.goroutine != by.goroutine {
			b.stepIn(e, child{c.goroutine, c.Span.Clip(s)})
		}
	}
	by.overflow.hide(e)
	by.children = slices.DeleteFunc(by.children, func(c child) bool { return c.End != notLeft })
}

// learnChildren brings up to date which children have joined and left during s. In a
// time that was not traced all may have left, unless it is known of each that it
// leaves a mark.
func (b *Store) learnChildren(slot int16, s stall.Span, by *Carrier) {
	seen := s.Start
	for _, c := range b.live {
		if c.Span.End <= s.Start || c.Span.Start >= s.End {
			continue
		}
		if c.Span.Start > seen {
			b.loseChildren(slot, seen, by)
		}
		seen = c.Span.End
		b.overflowed += by.learn(c.marks.joins.of(slot, s), func(j mark) stall.Instant { return c.joinTime(j, s) })
		by.endChildren(c)
	}
	if seen < s.End {
		b.loseChildren(slot, seen, by)
	}
}

// learn takes in the children that joined or left. From returns when one that joined
// starts to count. It returns how many do not count.
func (by *Carrier) learn(joins []mark, from func(mark) stall.Instant) (over uint64) {
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

// endChildren has children leave that ended without leaving.
func (by *Carrier) endChildren(c *generation) {
	for i := range by.children {
		if child := &by.children[i]; child.End == notLeft {
			if end, ok := c.EndOf(child.goroutine); ok {
				child.End = max(end, child.Start)
			}
		}
	}
}

func (b *Store) loseChildren(slot int16, at stall.Instant, by *Carrier) {
	if b.slots.ChildrenKnown(slot) {
		return
	}
	for i := range by.children {
		if c := &by.children[i]; c.End == notLeft {
			c.End = at
			by.overflow.lost++
		}
	}
	by.overflow.endAll(at)
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
func (b *Store) stepIn(e *stall.Evidence, c child) {
	old := slices.Clone(e.Track)
	e.Track = e.Track[:0]
	for _, t := range old {
		part := stall.Span{Start: t.Start, End: t.End}.Clip(c.Span)
		if t.State != stall.StateParked || part.Empty() || waitsForGC(e.Own, t) {
			e.Track = append(e.Track, t)
			continue
		}
		e.Track = evidence.AppendState(e.Track, stall.StateSpan{Start: t.Start, End: part.Start, State: stall.StateParked})
		at := b.appendChild(e, c.goroutine, part)
		e.Track = evidence.AppendState(e.Track, stall.StateSpan{Start: at, End: t.End, State: stall.StateParked})
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
// it is missing, the track has a gap: what the window waited for is unseen.
func (b *Store) appendChild(e *stall.Evidence, goroutine uint64, s stall.Span) stall.Instant {
	at := s.Start
	for _, c := range b.live {
		if c.Span.End <= s.Start || c.Span.Start >= s.End {
			continue
		}
		at = max(c.FollowIn(e, goroutine, s, at), min(c.Span.End, s.End))
	}
	return at
}

// overflow are the children of a window beyond maxChildren. What they do is not looked
// at, so while there are any, what the window waits for is not known.
type overflow struct {
	n     int           // that have joined and not left
	since stall.Instant // when the first of them did
	past  []stall.Span  // while there were others, in the piece that is settled
	lost  int           // children, of all, that were there when they were lost from sight
	quiet int           // of them, those that left untraced, and leave no mark
}

// maxOverflows bounds the overflows of one piece that are told apart: a window may have
// tens of thousands of joins in it. What lies between later ones is unseen with them.
const maxOverflows = 64

func (c *overflow) join(at stall.Instant) {
	if c.n == 0 {
		c.since = at
	}
	c.n++
}

// leave takes off a child that is none of those that count. It may have joined unseen,
// or be one that was lost. Lost ones leave before any of the overflow: if an overflow
// were thought gone too early, its time would be called the window's own.
func (c *overflow) leave(at stall.Instant) {
	switch {
	case c.lost > c.quiet:
		c.lost--
	case c.n == 1:
		c.end(at)
	case c.n > 1:
		c.n--
	}
}

// endAll ends all memberships at a time. Later ones are unknown.
func (c *overflow) endAll(at stall.Instant) {
	if c.n > 0 {
		c.lost += c.n
		c.end(at)
	}
}

func (c *overflow) end(at stall.Instant) {
	c.n = 0
	if n := len(c.past); n == maxOverflows {
		c.past[n-1].End = at
		return
	}
	c.past = append(c.past, stall.Span{Start: c.since, End: at})
}

// hide takes out of the track what the window waited while there was an overflow, but
// for waits for the collector. Both lists are by time.
func (c *overflow) hide(e *stall.Evidence) {
	past := c.past
	c.past = c.past[:0]
	if c.n > 0 {
		past = append(past, stall.Span{Start: c.since, End: notLeft})
	}
	if len(past) == 0 {
		return
	}
	old := slices.Clone(e.Track)
	e.Track = e.Track[:0]
	for _, t := range old {
		for len(past) > 0 && past[0].End <= t.Start {
			past = past[1:]
		}
		if len(past) == 0 || past[0].Start >= t.End || t.State != stall.StateParked || waitsForGC(e.Own, t) {
			e.Track = append(e.Track, t)
			continue
		}
		at := t.Start
		for i := 0; i < len(past) && past[i].Start < t.End; i++ {
			e.Track = evidence.AppendState(e.Track, stall.StateSpan{Start: at, End: past[i].Start, State: stall.StateParked})
			at = max(at, past[i].End)
		}
		e.Track = evidence.AppendState(e.Track, stall.StateSpan{Start: at, End: t.End, State: stall.StateParked})
	}
}

// TakeOverflow returns how many children did not count since the last call.
func (b *Store) TakeOverflow() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.overflowed
	b.overflowed = 0
	return n
}

// joinTime returns when a joined goroutine starts to count in the piece s of a window.
// That is its start, if it began in s and has only waited for a CPU and run until it
// joined: the window waits for it all that time. A goroutine that was parked in
// between, or had joined a window before, counts from its mark.
func (c *generation) joinTime(j mark, s stall.Span) stall.Instant {
	start, ok := c.BusyFrom(j.goroutine, j.at)
	if !ok || start < s.Start || c.marks.joined[j.goroutine] < j.at {
		return j.at
	}
	return start
}
