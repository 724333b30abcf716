package senders

import (
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	// SilentAfter is how long a source may say nothing before it is not waited
	// for: its part of a span is unseen then, as in process.
	SilentAfter = stall.Instant(3e9)
	// farAway is how far a status may be from what its sender's time should be.
	farAway = stall.Instant(3600e9)
	// BelieveAfter is how many such statuses in a row are believed: then the time that
	// was known before was wrong, or has gone on.
	BelieveAfter = 16
	// ClocksApart is by how much the clocks of two machines differ at least: one
	// was not running for so long.
	ClocksApart = time.Second
)

// Clocks are what one sender says of time: how far its instants have got, and what the
// wall clock shows there. Each sender has its own, which no other sender changes.
type Clocks struct {
	Wall       *Wall         // nil while it has reported none; never changed
	Now        stall.Instant // the latest that it reported
	ahead      stall.Instant // start of the last stall that it reported before that
	strange    int           // statuses in a row that were far away
	hasty      int           // that were ahead, not long after each other
	hastyAt    time.Duration // the last of them, by the clock of the registry
	behind     int           // that were behind while it reported no time
	reportedAt time.Duration // the last that did, by the clock of the registry
	Heard      time.Duration // the last event, likewise
	twice      time.Duration // the last that another must have sent, likewise
	two        bool          // there was one
}

// horizon returns the latest instant that may be reported: time goes on also
// without reports.
func (c *Clocks) horizon(clock time.Duration) stall.Instant {
	return c.Now + farAway + stall.Instant(clock-c.reportedAt)
}

// Expect takes in the start of a stall. It reports false for one of the future, which
// would stay for ever. Before any time was reported it cannot know, and accepts all:
// Report then checks.
func (c *Clocks) Expect(start stall.Instant, clock time.Duration) bool {
	if c.Now == 0 {
		c.ahead = max(c.ahead, start)
		return true
	}
	return start <= c.horizon(clock)
}

// Report takes in the time of a status. Ok is false if the time cannot be: one of the
// future would silence its sender for ever. If wrong is true, the times that were reported
// before cannot be, and have to be forgotten. Near is how far ahead of the last time a
// status may be.
func (c *Clocks) Report(s *semconv.Status, clock time.Duration, near stall.Instant) (ok, wrong bool) {
	elapsed := stall.Instant(clock - c.reportedAt)
	switch {
	case c.Now == 0 && c.ahead > s.At+farAway:
		return false, true // its stalls would stay for ever
	case c.Now == 0:
	case s.At+farAway < c.Now || s.At > c.horizon(clock):
		c.strange++
		return false, c.strange >= BelieveAfter
	case s.At > c.Now+elapsed+near:
		if clock-c.hastyAt > time.Duration(SilentAfter) {
			c.hasty = 0
		}
		c.hastyAt = clock
		if c.hasty++; c.hasty < BelieveAfter {
			return false, false
		}
		c.hasty = 0
	case s.At+near < c.Now:
		c.strange = 0
		if elapsed > SilentAfter {
			c.behind++
		}
		return c.behind < BelieveAfter, c.behind >= BelieveAfter
	}
	c.strange, c.behind, c.reportedAt = 0, 0, clock
	c.Now = max(c.Now, s.At)
	return true, false
}

// Relate takes in what a status says of the wall clock. It reports false if another
// sender must have the same name.
func (c *Clocks) Relate(s stall.WallOffset) bool {
	w := c.Wall
	if w == nil {
		w = new(Wall)
	}
	w, ok := w.learn(s)
	c.Wall = w
	return ok
}

// Dispute notes that two senders report as one.
func (c *Clocks) Dispute(clock time.Duration) { c.two, c.twice = true, clock }

// Disputed reports whether two senders were noted that recently.
func (c *Clocks) Disputed(clock, within time.Duration) bool {
	return c.two && clock-c.twice <= within
}

// Began returns when the boot began by the wall clock of now, Unix ns; long ago if c has
// reported no time.
func (c *Clocks) Began() int64 {
	if c.Wall == nil {
		return Never
	}
	return int64(c.Wall.latest().offset)
}

// Over reports whether c was last heard before a boot that began at boot, in Unix ns: it
// is of an earlier boot of the machine.
func (c *Clocks) Over(boot int64) bool { return c.Wall != nil && c.Wall.latest().wallAt() <= boot }
