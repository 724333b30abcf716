package senders

import (
	"time"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

const (
	// mostRuns is how many settings of a wall clock are known: of one that is set
	// more often while spans wait, the oldest become one that may be off.
	mostRuns = 8
	// between is how much a run grows at a time: every source sends a status each
	// second.
	between = stall.Instant(500 * time.Millisecond)
	// drift bounds how a wall clock runs away from CLOCK_MONOTONIC where
	// it was not looked at: 100 ppm, one part of ten thousand.
	drift = 10_000
	// Never is before all wall times.
	Never = -1 << 63
)

// Wall relates the wall clock to the instants of a host, as one sender reports it. The
// clock is set and slewed, so it is a history: runs in which all statuses agreed, by
// instant. A Wall is never changed: joins may hold it.
type Wall struct {
	runs [mostRuns]run
	n    int
}

// run is a stretch of time in which the statuses reported one offset, within their errors.
type run struct {
	from, to stall.Instant
	offset   time.Duration
	err      time.Duration // of the status that knew it best
	apart    time.Duration // how far others of the same time were from it
}

// instant returns the instant at which the wall clock showed ns.
func (r *run) instant(ns int64) stall.Instant { return stall.Instant(ns - int64(r.offset)) }

// error returns how far an instant of r may be off.
func (r *run) error() time.Duration { return max(r.err, r.apart) }

// step returns by how much the clock was set between two runs.
func (r *run) step(o *run) time.Duration {
	if d := (o.offset - r.offset).Abs(); d > r.error()+o.error() {
		return d
	}
	return 0
}

// agrees reports whether a relation may be of r.
func (r *run) agrees(s stall.WallOffset) bool {
	return r.apart == 0 && (s.Offset-r.offset).Abs() <= r.err+s.Error
}

// learn returns w with what a status says. It reports false if that cannot be said of
// the same clock: at one time it was reported to show two others.
func (w *Wall) learn(s stall.WallOffset) (_ *Wall, ok bool) {
	at := 0 // of the first run that begins after s
	for at < w.n && w.runs[at].from <= s.At {
		at++
	}
	if at > 0 && s.At <= w.runs[at-1].to {
		return w.within(at-1, s)
	}
	switch {
	case at > 0 && w.runs[at-1].agrees(s):
		if at == w.n && s.At < w.runs[at-1].to+between && s.Error >= w.runs[at-1].err {
			return w, true
		}
		return w.extended(at-1, s), true
	case at < w.n && w.runs[at].agrees(s):
		return w.extended(at, s), true
	}
	more := *w
	if more.n == mostRuns {
		more.merge()
		at = max(0, at-1)
		if at == 0 && s.At < more.runs[0].to {
			return w, true // it is older than what is known
		}
	}
	copy(more.runs[at+1:], more.runs[at:more.n])
	more.runs[at] = run{s.At, s.At, s.Offset, s.Error, 0}
	more.n++
	return &more, !more.flips(at)
}

// flips reports whether the clock would have been set there and back within a moment,
// which two senders of one name look like.
func (w *Wall) flips(at int) bool {
	if at < 2 {
		return false
	}
	a, c := &w.runs[at-2], &w.runs[at]
	return c.from-a.to <= SilentAfter && (c.offset-a.offset).Abs() <= a.error()+c.err
}

// within takes in a status of a time in the midst of a run.
func (w *Wall) within(i int, s stall.WallOffset) (*Wall, bool) {
	r := &w.runs[i]
	d := (s.Offset - r.offset).Abs()
	if d <= max(r.err+s.Error, r.apart) {
		return w, true
	}
	more := *w
	more.runs[i].apart = d
	return &more, false
}

func (w *Wall) extended(i int, s stall.WallOffset) *Wall {
	more := *w
	r := &more.runs[i]
	r.from, r.to = min(r.from, s.At), max(r.to, s.At)
	if s.Error < r.err {
		r.offset, r.err = s.Offset, s.Error
	}
	return &more
}

// merge makes the two oldest runs one, which is off by as much as they are apart.
func (w *Wall) merge() {
	a, b := &w.runs[0], &w.runs[1]
	b.apart = max(a.apart, b.apart, (a.offset - b.offset).Abs())
	b.from = a.from
	copy(w.runs[:], w.runs[1:w.n])
	w.n--
}

// latest returns the youngest run, of a wall that has one.
func (w *Wall) latest() *run { return &w.runs[w.n-1] }

// wallAt returns what the wall clock showed at the end of the run, Unix ns.
func (r *run) wallAt() int64 { return int64(r.to) + int64(r.offset) }

// instant returns the instant of a wall time, and how far it may be off. It
// reports false if the clock is not known.
func (w *Wall) instant(ns int64) (stall.Instant, time.Duration, bool) {
	if w == nil || w.n == 0 {
		return 0, 0, false
	}
	r, step := w.relate(ns)
	t := r.instant(ns)
	slack := r.error()
	if away := max(t-r.to, r.from-t); away > stall.Instant(time.Second) {
		slack += time.Duration(away / drift)
	}
	return min(max(t, -wire.Farthest/4), wire.Farthest/4), min(max(slack, step), wire.Farthest/4), true
}

// relate returns the run that a wall time is of, and how far it may be off for
// steps of the clock. The clock was set anywhere between two runs, so by either of
// them it may have shown ns there. One that was set back shows a time twice, and then
// it may have been the other; one that was set ahead never shows some.
func (w *Wall) relate(ns int64) (r *run, step time.Duration) {
	if w.n == 1 {
		return &w.runs[0], 0
	}
	for i := w.n - 1; i >= 0; i-- {
		c := &w.runs[i]
		t := c.instant(ns)
		switch {
		case i > 0 && t < w.runs[i-1].to, i+1 < w.n && t >= w.runs[i+1].from, i+1 == w.n && t >= c.to+SilentAfter:
		case r == nil:
			r = c
		default:
			step = max(step, r.step(c))
		}
	}
	if r != nil {
		return r, step
	}
	if last := w.latest(); last.instant(ns) >= last.to {
		return last, 0
	}
	var near stall.Instant
	for i := range w.n {
		c := &w.runs[i]
		t := c.instant(ns)
		if away := max(t-c.to, c.from-t, 0); r == nil || away < near {
			r, near = c, away
		}
	}
	return r, time.Duration(near)
}

// Walls are those by which the spans of a place are put on the clock of its host.
type Walls struct {
	Own  *Wall   // of their process; nil if it has reported none
	Host []*Wall // of the senders that speak for the host
}

// Known reports whether the clock is known.
func (p *Walls) Known() bool { return p.Own != nil || len(p.Host) > 0 }

// Instant returns the instant of a wall time, and how far it may be off. For a time that
// the process itself reported on, its own clock is taken. For any other time the clock
// with the least error is taken; where clocks differ by more than their errors, the
// instant may be off by as much.
func (p *Walls) Instant(ns int64) (t stall.Instant, slack time.Duration, ok bool) {
	if t, slack, ok = p.Own.instant(ns); ok && p.Own.covers(t) {
		return t, slack, ok
	}
	for _, w := range p.Host {
		if u, s, known := w.instant(ns); known && (!ok || s < slack) {
			t, slack, ok = u, s, true
		}
	}
	best := slack
	apart := func(w *Wall) {
		if u, s, known := w.instant(ns); known {
			if d := time.Duration(max(u-t, t-u)); d > best+s {
				slack = max(slack, d)
			}
		}
	}
	apart(p.Own)
	for _, w := range p.Host {
		apart(w)
	}
	return t, slack, ok
}

// covers reports whether statuses reported on t, or nearly.
func (w *Wall) covers(t stall.Instant) bool {
	return w.runs[0].from-SilentAfter <= t && t <= w.latest().to+SilentAfter
}

// ClocksDiffer reports whether two relations cannot be of one clock, as far as it runs away
// in the time between them.
func ClocksDiffer(s, o stall.WallOffset) bool {
	return (s.Offset - o.Offset).Abs() > s.Error+o.Error+time.Duration(max(s.At-o.At, o.At-s.At)/drift)
}
