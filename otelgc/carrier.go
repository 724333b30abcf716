package otelgc

import (
	"math"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// holder is who carries the window that has a slot.
type holder struct {
	since    stall.Instant // of the window's first mark
	own      uint64        // 0 if only children are known
	children []uint64      // at most maxChildren
}

// carry brings up to date which goroutines carry windows that have begun and not
// ended: those are followed on. Windows may lie within each other on one
// goroutine, so it is kept by slot. Marks are by time. What came before the last
// mark of a window itself is of no account: most windows begin and end within a
// second. Nor need those be followed on that ended by end, when the trace does.
func (b *traceStore) carry(marks []mark, end stall.Instant) {
	clear(b.last[:])
	for i := range marks {
		if m := &marks[i]; !m.ofChild() {
			b.last[m.slot] = int32(i + 1)
		}
	}
	for i := range marks {
		m := &marks[i]
		switch at := int(b.last[m.slot]) - 1; {
		case i < at:
		case m.kind == gotrace.WindowJoin:
			b.dropChild(m.slot, m.goroutine)
			b.addChild(m.slot, m.goroutine, m.at)
		case m.kind == gotrace.WindowLeave:
			b.dropChild(m.slot, m.goroutine)
		case m.kind == gotrace.WindowBegin && b.over(m.slot, m.at, end):
			b.dropAll(m.slot)
		case m.kind == gotrace.WindowBegin:
			b.dropAll(m.slot)
			b.holders[m.slot] = &holder{since: m.at, own: m.goroutine}
			b.carrying[m.goroutine]++
		default:
			b.dropAll(m.slot)
		}
	}
	for slot, h := range b.holders {
		if b.over(slot, h.since, end) {
			b.dropAll(slot)
		}
		b.dropEnded(h)
	}
}

// over reports whether the window that left a mark at a time had ended by
// another: there is no mark of that in the trace, unless others read it.
func (b *traceStore) over(slot int16, marked, by stall.Instant) bool {
	ended, ok := b.slots.EndedBy(slot, marked, b.error)
	return ok && ended <= by
}

func (b *traceStore) addChild(slot int16, id uint64, at stall.Instant) {
	h := b.holders[slot]
	if h == nil {
		h = &holder{since: at}
		b.holders[slot] = h
	}
	if len(h.children) == maxChildren {
		return // it does not count, and those of before may have ended where nobody traced
	}
	h.children = append(h.children, id)
	b.carrying[id]++
}

// dropEnded drops the children that ended without a word.
func (b *traceStore) dropEnded(h *holder) {
	h.children = slices.DeleteFunc(h.children, func(id uint64) bool {
		_, ended := b.spare.endOf(id)
		if ended {
			b.less(id)
		}
		return ended
	})
}

func (b *traceStore) dropChild(slot int16, id uint64) {
	h := b.holders[slot]
	if h == nil {
		return
	}
	if i := slices.Index(h.children, id); i >= 0 {
		h.children = slices.Delete(h.children, i, i+1)
		b.less(id)
	}
}

func (b *traceStore) dropChildren(h *holder) {
	for _, id := range h.children {
		b.less(id)
	}
	h.children = h.children[:0]
}

func (b *traceStore) dropAll(slot int16) {
	h := b.holders[slot]
	if h == nil {
		return
	}
	b.dropChildren(h)
	if h.own != 0 {
		b.less(h.own)
	}
	delete(b.holders, slot)
}

func (b *traceStore) less(id uint64) {
	if b.carrying[id]--; b.carrying[id] <= 0 {
		delete(b.carrying, id)
	}
}

// keepOpen drops, where nobody watched, who may have ended unseen. A window whose
// slot says that it goes on stays on its goroutine, and its children with it
// unless one has left unseen.
func (b *traceStore) keepOpen() {
	for slot, h := range b.holders {
		if !b.slots.StillOpen(slot, h.since.Add(b.error)) {
			b.dropAll(slot)
		} else if !b.slots.ChildrenKnown(slot) {
			b.dropChildren(h)
		}
	}
}

// carriers returns who is to be followed from the first event of a slice on,
// since windows that it carries were open when the last one ended.
func (b *traceStore) carriers() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepOpen()
	ids := make([]uint64, 0, len(b.carrying))
	for id := range b.carrying {
		ids = append(ids, id)
	}
	return ids
}

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

// overflow are the children of a window beyond maxChildren. Nobody looks at what they
// do, so while there are any, that the window waits is not known to be its own
// doing.
type overflow struct {
	n     int           // that have joined and not left
	since stall.Instant // when the first of them did
	past  []stall.Span  // while there were others, in the piece that is settled
	lost  int           // children, of all, that were there when they were lost from sight
	quiet int           // of them, those that left where nobody traced, and will not say so
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

// leave is that of a child which is none of those that count. It may have joined
// unseen, or be one that was lost: those are taken to leave before any of the overflow,
// for an overflow that is thought gone too early has its time called the window's own.
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

// disperse has all leave at a time from which on nobody knows who has.
func (c *overflow) disperse(at stall.Instant) {
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
// for what it waited for the collector. Both are by time.
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
			e.Track = appendState(e.Track, at, past[i].Start, stall.StateParked)
			at = max(at, past[i].End)
		}
		e.Track = appendState(e.Track, at, t.End, stall.StateParked)
	}
}

// takeOverflow returns how many children did not count since the last call.
func (b *traceStore) takeOverflow() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.overflowed
	b.overflowed = 0
	return n
}
