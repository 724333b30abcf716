package attribution

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// silentAfter is how long a source may say nothing before nobody waits for
	// it: its part of a span is unseen then, as in process.
	silentAfter = stall.Instant(3e9)
	// farAway is how far a status may be from what its sender's time should be.
	farAway = stall.Instant(3600e9)
	// believeAfter is how many such statuses in a row are believed: then the time that
	// was known before was wrong, or has gone on.
	believeAfter = 16
)

// clocks are what one sender says of time: how far its instants have got, and what the
// wall clock shows there. Each sender has its own, and nobody else's word changes them.
type clocks struct {
	wall    *wall         // nil while it has told none; never changed
	now     stall.Instant // the latest that it told
	ahead   stall.Instant // start of the last stall that it told before that
	strange int           // statuses in a row that were far away
	hasty   int           // that were ahead, not long after each other
	hastyAt time.Duration // the last of them, by registry.clock
	behind  int           // that were behind while it told no time
	toldAt  time.Duration // the last that did, by registry.clock
	heard   time.Duration // the last event, likewise
	twice   time.Duration // the last that somebody else must have sent, likewise
	two     bool          // there was one
}

// horizon returns the latest instant that may be told: time goes on also while
// nobody tells.
func (c *clocks) horizon(clock time.Duration) stall.Instant {
	return c.now + farAway + stall.Instant(clock-c.toldAt)
}

// expect takes in the start of a stall. It reports false for one of the future: it
// would stay for ever. Before any time was told that shows later.
func (c *clocks) expect(start stall.Instant, clock time.Duration) bool {
	if c.now == 0 {
		c.ahead = max(c.ahead, start)
		return true
	}
	return start <= c.horizon(clock)
}

// told takes in the time of a status. It reports false if that cannot be: one of the
// future would silence its sender for ever. If wrong is then true it is what was told
// before that cannot be, and that has to be forgotten. Near is how far a sender may be
// ahead of itself.
func (c *clocks) told(s *status, clock time.Duration, near stall.Instant) (ok, wrong bool) {
	elapsed := stall.Instant(clock - c.toldAt)
	switch {
	case c.now == 0 && c.ahead > s.at+farAway:
		return false, true // its stalls would stay for ever
	case c.now == 0:
	case s.at+farAway < c.now || s.at > c.horizon(clock):
		c.strange++
		return false, c.strange >= believeAfter
	case s.at > c.now+elapsed+near:
		if clock-c.hastyAt > time.Duration(silentAfter) {
			c.hasty = 0
		}
		c.hastyAt = clock
		if c.hasty++; c.hasty < believeAfter {
			return false, false
		}
		c.hasty = 0
	case s.at+near < c.now:
		c.strange = 0
		if elapsed > silentAfter {
			c.behind++
		}
		return c.behind < believeAfter, c.behind >= believeAfter
	}
	c.strange, c.behind, c.toldAt = 0, 0, clock
	c.now = max(c.now, s.at)
	return true, false
}

// relate takes in what a status says of the wall clock. It reports false if another
// sender must have the same name.
func (c *clocks) relate(s relation) bool {
	w := c.wall
	if w == nil {
		w = new(wall)
	}
	w, ok := w.learn(s)
	c.wall = w
	return ok
}

// dispute notes that two senders tell as one.
func (c *clocks) dispute(clock time.Duration) { c.two, c.twice = true, clock }
