package dotnet

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// coverage keeps what was seen of a process and what was not.
type coverage struct {
	first    stall.Instant // when the first session began
	mark     stall.Instant // all before it was seen, or is named as unseen
	watching bool
	untold   []stall.Span
	unseen   time.Duration // since first
}

// attach begins to watch. Nothing before now was seen since the process was
// made, or since the last session ended.
func (c *coverage) attach(made, now stall.Instant) {
	if c.first == 0 {
		c.first = now
		c.tell(stall.Span{Start: min(made, now), End: now})
	} else {
		c.miss(stall.Span{Start: c.mark, End: now})
	}
	c.mark, c.watching = max(c.mark, now), true
}

// saw says that all before to was seen.
func (c *coverage) saw(to stall.Instant) {
	if c.watching {
		c.mark = max(c.mark, to)
	}
}

// detach ends to watch: what follows the mark is unseen.
func (c *coverage) detach() { c.watching = false }

// miss names a span that was not seen.
func (c *coverage) miss(s stall.Span) {
	s.Start = max(s.Start, c.first)
	if s.Empty() {
		return
	}
	c.unseen += s.Duration()
	c.tell(s)
}

func (c *coverage) tell(s stall.Span) { c.untold = appendUnseen(c.untold, s) }

// appendUnseen appends s to list. Where there are too many, the last span reaches over
// all of them: more is unseen than was, never less.
func appendUnseen(list []stall.Span, s stall.Span) []stall.Span {
	n := len(list)
	switch {
	case s.Empty():
		return list
	case n < maxUntold:
		return append(list, s)
	}
	last := &list[n-1]
	last.Start, last.End = min(last.Start, s.Start), max(last.End, s.End)
	return list
}

// status returns the watermark at now, and the spans before it that were not
// seen and not told of yet.
func (c *coverage) status(now stall.Instant) (stall.Instant, []stall.Span) {
	if !c.watching && c.first != 0 {
		c.miss(stall.Span{Start: c.mark, End: now})
		c.mark = max(c.mark, now)
	}
	spans := c.untold
	c.untold = nil
	return c.mark, spans
}

// fraction returns how much of the time since the first session was seen.
func (c *coverage) fraction() float64 {
	whole := c.mark.Sub(c.first)
	if whole <= 0 {
		return 0
	}
	return max(0, 1-c.unseen.Seconds()/whole.Seconds())
}
