package otelgc

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

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
