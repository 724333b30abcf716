package attribution

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// offsets is how many statuses a host's wall clock is known from: more than
	// a minute, so longer than a span is held.
	offsets = 128
	// between is the least time between two that are kept: every source of the
	// host sends one each second.
	between = stall.Instant(500 * time.Millisecond)
	// drift bounds how a wall clock runs away from CLOCK_MONOTONIC where
	// nobody has looked: 100 ppm, one part of ten thousand.
	drift = 10_000
	// farthest bounds wall times, offsets and instants, so that none of their
	// sums overflows: 146 years.
	farthest = 1<<62 - 1
)

// wall relates the wall clock of a host to its instants. It is stepped and
// slewed, so it is a history, of the youngest statuses, by instant. It is never
// changed.
type wall struct {
	known [offsets]relation
	n     int
}

type relation struct {
	at       stall.Instant
	offset   time.Duration
	accuracy time.Duration
}

// wallAt returns what the wall clock showed at r.at, Unix ns.
func (r *relation) wallAt() int64 { return int64(r.at) + int64(r.offset) }

// learn returns w with a status. Those that come out of order are not needed.
func (w *wall) learn(s *status) *wall {
	if w.n > 0 && s.at < w.latest().at+between {
		return w
	}
	more := *w
	if more.n == offsets {
		copy(more.known[:], more.known[1:])
		more.n--
	}
	more.known[more.n] = relation{s.at, s.offset, s.wallError}
	more.n++
	return &more
}

// latest returns the youngest relation, of a wall that has one.
func (w *wall) latest() *relation { return &w.known[w.n-1] }

// instant returns the instant of a wall time, and how far it may be off. It
// reports false on a host whose clock nobody has told.
func (w *wall) instant(ns int64) (stall.Instant, time.Duration, bool) {
	if w.n == 0 {
		return 0, 0, false
	}
	i := w.n - 1
	for i > 0 && w.known[i].wallAt() > ns {
		i--
	}
	r := &w.known[i]
	t := stall.Instant(ns - int64(r.offset))
	slack := r.accuracy
	if away := max(t-r.at, r.at-t); away > stall.Instant(time.Second) {
		slack += time.Duration(away / drift)
	}
	if i+1 < w.n {
		// The clock may have been set anywhere between the two.
		next := w.known[i+1]
		if step := (next.offset - r.offset).Abs(); step > r.accuracy+next.accuracy {
			slack = max(slack, step)
		}
	}
	return min(max(t, -farthest/4), farthest/4), min(slack, farthest/4), true
}
