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
	set   bool // meanwhile
}

type relation struct {
	at       stall.Instant
	offset   time.Duration
	accuracy time.Duration
}

// instant returns the instant at which the wall clock showed ns, if it was not set
// meanwhile.
func (r *relation) instant(ns int64) stall.Instant { return stall.Instant(ns - int64(r.offset)) }

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
	more.set = false
	for i := range more.n - 1 {
		more.set = more.set || more.known[i].step(&more.known[i+1]) > 0
	}
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
	r, step := w.relate(ns)
	t := r.instant(ns)
	slack := r.accuracy
	if away := max(t-r.at, r.at-t); away > stall.Instant(time.Second) {
		slack += time.Duration(away / drift)
	}
	return min(max(t, -farthest/4), farthest/4), min(max(slack, step), farthest/4), true
}

// relate returns the relation that a wall time is of, and how far it may be off
// for steps of the clock.
func (w *wall) relate(ns int64) (r *relation, step time.Duration) {
	if w.set {
		if r, step = w.shown(ns); r != nil {
			return r, step
		}
	}
	i := w.n - 1
	for i > 0 && w.known[i].wallAt() > ns {
		i--
	}
	r = &w.known[i]
	if i+1 < w.n {
		next := &w.known[i+1]
		step = r.step(next)
		if t := r.instant(ns); step == 0 && next.at-t < t-r.at {
			r = next // the nearer knows better
		}
	}
	return r, step
}

// shown looks for when a clock that was set has shown ns: between two statuses,
// by what either of them says, as it was set anywhere between them. A clock that
// was set back shows a time twice, and then it may have been the other.
func (w *wall) shown(ns int64) (r *relation, step time.Duration) {
	for i := w.n - 1; i >= 0; i-- {
		from, to := &w.known[i], &w.known[i]
		until := from.at + silentAfter
		if i+1 < w.n {
			to = &w.known[i+1]
			until = to.at
		}
		for _, c := range [...]*relation{from, to} {
			switch t := c.instant(ns); {
			case t < from.at || t >= until:
			case r == nil:
				r = c
			default:
				step = max(step, r.step(c))
			}
		}
	}
	return r, step
}

// step returns by how much the clock was set between two relations.
func (r *relation) step(o *relation) time.Duration {
	if d := (o.offset - r.offset).Abs(); d > r.accuracy+o.accuracy {
		return d
	}
	return 0
}
