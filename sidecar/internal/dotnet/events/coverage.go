package events

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
)

// Coverage is how much of a process was seen.
type Coverage struct {
	First  stall.Instant // when the first session began
	Mark   stall.Instant // all before it was seen, or is named as unseen
	Unseen time.Duration // since First
}

// Fraction returns how much of the time since the first session was seen.
func (c Coverage) Fraction() float64 {
	whole := c.Mark.Sub(c.First)
	if whole <= 0 {
		return 0
	}
	return max(0, 1-c.Unseen.Seconds()/whole.Seconds())
}

// coverage keeps what was seen of a process and what was not.
type coverage struct {
	Coverage
	watching bool
	next     []stall.Span // unseen, of the next batch
}

// attach begins to watch. Nothing before now was seen since the process was
// made, or since the last session ended.
func (c *coverage) attach(made, now stall.Instant) {
	if c.First == 0 {
		c.First = now
		c.add(stall.Span{Start: min(made, now), End: now})
	} else {
		c.miss(stall.Span{Start: c.Mark, End: now})
	}
	c.Mark, c.watching = max(c.Mark, now), true
}

// saw says that all before to was seen.
func (c *coverage) saw(to stall.Instant) {
	if c.watching {
		c.Mark = max(c.Mark, to)
	}
}

// detach ends to watch: what follows the mark is unseen.
func (c *coverage) detach() { c.watching = false }

// miss names a span that was not seen.
func (c *coverage) miss(s stall.Span) {
	s.Start = max(s.Start, c.First)
	if s.Empty() {
		return
	}
	c.Unseen += s.Duration()
	c.add(s)
}

func (c *coverage) add(s stall.Span) { c.next = AppendUnseen(c.next, s) }

// maxUnseen bounds a list of unseen spans.
const maxUnseen = 64

// AppendUnseen appends s to list. Where there are too many, the last span reaches over
// all of them: more is unseen than was, never less.
func AppendUnseen(list []stall.Span, s stall.Span) []stall.Span {
	n := len(list)
	switch {
	case s.Empty():
		return list
	case n < maxUnseen:
		return append(list, s)
	}
	last := &list[n-1]
	last.Start, last.End = min(last.Start, s.Start), max(last.End, s.End)
	return list
}

// status returns the watermark at now, and the spans before it that were not
// seen and are in no batch so far.
func (c *coverage) status(now stall.Instant) (stall.Instant, []stall.Span) {
	if !c.watching && c.First != 0 {
		c.miss(stall.Span{Start: c.Mark, End: now})
		c.Mark = max(c.Mark, now)
	}
	spans := c.next
	c.next = nil
	return c.Mark, spans
}

// maxWaiting bounds the collections that are waited for.
const maxWaiting = 64

// waiting knows the collections of which a stop was seen and whose record is
// not there yet: that of a background collection comes at its end. The pauses
// come with the record, so the watermark may not pass the first of them.
type waiting struct {
	since   map[uint64]stall.Instant // start of the first stop, by index
	pending stall.Instant            // start of a stop that is not over, 0 for none
	there   []uint64                 // indexes of the last records, at most maxWaiting
}

func (w *waiting) stop(s *dotnetgc.Stop) {
	if w.since == nil {
		w.since = make(map[uint64]stall.Instant)
	}
	for _, index := range s.Collections {
		if slices.Contains(w.there, index) {
			continue // events were lost: the record came before its stop
		}
		if first, ok := w.since[index]; !ok || s.Start() < first {
			w.since[index] = s.Start()
		}
	}
	for len(w.since) > maxWaiting {
		delete(w.since, w.oldest())
	}
}

func (w *waiting) collection(index uint64) {
	delete(w.since, index)
	if len(w.there) == maxWaiting {
		w.there = slices.Delete(w.there, 0, 1)
	}
	w.there = append(w.there, index)
}

func (w *waiting) oldest() uint64 {
	var oldest uint64
	for index := range w.since {
		if oldest == 0 || index < oldest {
			oldest = index
		}
	}
	return oldest
}

// reset forgets all: the session is over.
func (w *waiting) reset() { *w = waiting{} }

// bound returns the watermark, no later than what is waited for.
func (w *waiting) bound(mark stall.Instant) stall.Instant {
	if w.pending != 0 {
		mark = min(mark, w.pending)
	}
	for _, start := range w.since {
		mark = min(mark, start)
	}
	return mark
}
