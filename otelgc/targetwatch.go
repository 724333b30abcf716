package otelgc

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// targetLag bounds how long windows wait for the watch of this process, which
// tells the board a little later than the probe does. One that is silent for
// longer has ended, or lost sight.
const targetLag = time.Second

// targetWatch is what the board says of a source that watches this very
// process: in what time it knows whether the machine left the process alone.
type targetWatch struct {
	place *stall.Place
	log   *stall.Log
}

func newTargetWatch(place *stall.Place) targetWatch {
	return targetWatch{place, stall.NewLog(stall.TargetWatch, 1, logUnseen)}
}

// take takes in a record that board.Watched tells from a stall. They come in
// the order of time; what lies between two of them was not watched.
func (t *targetWatch) take(v *stall.Interval) {
	if v.Owner.PID == t.place.PID && v.Owner.Created == t.place.Created {
		t.log.Begin(v.Start)
		t.log.Advance(v.End)
	}
}

// watched reports whether the watch was sure of all of s. That it was there is
// not enough: it may have been sure of nothing.
func (t *targetWatch) watched(s stall.Span) bool { return t.log.Coverage(s) == 1 }

// hold returns the instant up to which a window can be resolved that the board
// is done with up to w.
func (t *targetWatch) hold(w stall.Instant) stall.Instant {
	if seen := t.log.Watermark(); seen != 0 && w.Sub(seen) < targetLag {
		return min(w, seen)
	}
	return w
}
