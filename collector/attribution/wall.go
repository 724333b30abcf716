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
)

// wall relates the wall clock of a host to its instants. It is stepped and
// slewed, so it is a history, of the youngest statuses, by instant.
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

// learn takes in a status. Those that come out of order are not needed.
func (w *wall) learn(s *status) {
	if w.n > 0 && s.at < w.known[w.n-1].at+between {
		return
	}
	if w.n == offsets {
		copy(w.known[:], w.known[1:])
		w.n--
	}
	w.known[w.n] = relation{s.at, s.offset, s.wallError}
	w.n++
}

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
	r := w.known[i]
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
	return t, slack, true
}
