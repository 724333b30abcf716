// Package evidence makes of the generations of an execution trace what the join of package
// stall needs: what goroutines did, and what the collector and the scheduler did to
// them; and batches of the stops and collections.
package evidence

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const (
	// maxStates bounds the states that a generation keeps, in bytes: 100,000 requests
	// a second that change state six times each.
	maxStates = 2 << 20
	// maxTrack is how many states of one goroutine are kept before those of all
	// others are, so that one that does nothing but yield cannot crowd them out.
	maxTrack = 1 << 17
)

// Generation has what one generation of a trace says of the goroutines that are followed,
// packed, in memory that is used again. The zero Generation says nothing.
type Generation struct {
	Span    stall.Span
	tracks  []track      // by goroutine
	states  stateLog     // the memory of tracks
	assists []assist     // and of what their goroutines did for the collector
	made    []selfStop   // stops of the world by goroutines that are followed
	workers []stall.Span // when a worker above idle priority held a P: merged
	found   []int        // of standing
}

// Learn makes c what g says, and keeps nothing of g. It returns of how many goroutines
// something was too much to keep: nothing is known of them. It calls breathe often.
func (c *Generation) Learn(g *gotrace.Generation, breathe func()) (lost uint64) {
	c.Span = g.Span
	lost = c.learnTracks(g.Tracks, breathe)
	breathe()
	lost += c.learnRanges(g)
	breathe()
	lost += c.learnSelfStops(g)
	c.learnWorkers(g.Workers)
	return lost
}

// Follow adds to e the states of a goroutine that reach into s, and what the collector
// and the scheduler did to it. In unpolled, its wait for the network was one for a P:
// see appendUnpolled. The intervals added to e.Own are not by time.
func (c *Generation) Follow(e *stall.Evidence, goroutine uint64, s, unpolled stall.Span) {
	for t := c.Of(goroutine, s); t.Next(); {
		e.Track = AppendState(e.Track, t.StateSpan)
		e.Own = c.appendOwn(e.Own, &t.State, t.Span())
		if t.network {
			e.Own = appendUnpolled(e.Own, t.Span().Clip(unpolled), c.workers)
		}
	}
	for _, r := range c.assistsOf(goroutine, s) {
		e.Own = append(e.Own, r.interval())
	}
	e.Own = c.appendSelfStops(e.Own, goroutine, s)
}

// FollowIn adds to e what Follow does, of what lies within s alone, and of the states what
// is not before at. It returns how far they reach.
func (c *Generation) FollowIn(e *stall.Evidence, goroutine uint64, s stall.Span, at stall.Instant) stall.Instant {
	for t := c.Of(goroutine, s); t.Next(); {
		v := t.Span().Clip(stall.Span{Start: at, End: s.End})
		if v.Empty() {
			continue
		}
		e.Track = AppendState(e.Track, stall.StateSpan{Start: v.Start, End: v.End, State: t.State.State})
		e.Own = c.appendOwn(e.Own, &t.State, v)
		at = v.End
	}
	for _, r := range c.assistsOf(goroutine, s) {
		v := r.interval()
		if part := v.Span().Clip(s); !part.Empty() {
			e.Own = append(e.Own, own(part.Start, part.End, v.Cause))
		}
	}
	e.Own = c.appendSelfStops(e.Own, goroutine, s)
	return at
}

// AppendState adds a state that follows on those of a track. A goroutine that is parked
// when a generation ends, and goes on to be in the next, has not woken in between.
func AppendState(to []stall.StateSpan, v stall.StateSpan) []stall.StateSpan {
	if v.Start >= v.End {
		return to
	}
	if n := len(to); n > 0 && v.State == stall.StateParked && to[n-1].State == v.State && to[n-1].End == v.Start {
		to[n-1].End = v.End
		return to
	}
	return append(to, v)
}

// appendOwn adds what a state of a goroutine says of the collector and the scheduler,
// within s.
func (c *Generation) appendOwn(to []stall.Interval, t *State, s stall.Span) []stall.Interval {
	switch {
	case t.gcWait:
		return append(to, own(s.Start, s.End, stall.GCWait))
	case t.held:
		return append(to, own(s.Start, s.End, stall.RuntimeUnknown))
	case t.State == stall.StateRunnable:
		return appendSched(to, s, c.workers)
	}
	return to
}

// learnTracks copies the states, those of goroutines with very many last, for as
// long as there is room.
func (c *Generation) learnTracks(tracks []gotrace.Track, breathe func()) (lost uint64) {
	total := 0
	for i := range tracks {
		total += tracks[i].Most
	}
	c.states.clear(total, len(tracks))
	c.tracks = slices.Grow(c.tracks[:0], len(tracks))
	for _, long := range [...]bool{false, true} {
		for i := range tracks {
			if t := &tracks[i]; (t.Most > maxTrack) == long && !c.learnTrack(t) {
				lost++
			}
			breathe()
		}
	}
	slices.SortFunc(c.tracks, func(a, b track) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
}

// learnTrack reports whether there was room for a goroutine's states.
func (c *Generation) learnTrack(t *gotrace.Track) bool {
	kept, ok := c.states.put(t)
	c.tracks = append(c.tracks, kept)
	return ok
}

// lose forgets a goroutine of which something is missing: what is left of it
// would be taken for the whole.
func (c *Generation) lose(i int) {
	c.tracks[i] = track{goroutine: c.tracks[i].goroutine, ended: c.tracks[i].ended, lost: true}
}

// EndOf returns when a goroutine ended, if it did: the end of the generation where it is
// not known better.
func (c *Generation) EndOf(goroutine uint64) (stall.Instant, bool) {
	i, ok := c.trackOf(goroutine)
	switch {
	case !ok || !c.tracks[i].ended:
		return 0, false
	case c.tracks[i].lost:
		return c.Span.End, true
	}
	return c.tracks[i].until, true
}

func (c *Generation) trackOf(goroutine uint64) (int, bool) {
	return slices.BinarySearchFunc(c.tracks, goroutine, func(t track, id uint64) int {
		return cmp.Compare(t.goroutine, id)
	})
}

// learnWorkers merges the turns of workers, sorted by Start, into the spans in
// which at least one held a P.
func (c *Generation) learnWorkers(workers []gotrace.Worker) {
	c.workers = c.workers[:0]
	for i := range workers {
		w := &workers[i]
		if w.Kind == gotrace.Idle {
			continue
		}
		if n := len(c.workers); n > 0 && w.Start <= c.workers[n-1].End {
			c.workers[n-1].End = max(c.workers[n-1].End, w.End)
			continue
		}
		c.workers = append(c.workers, w.Span)
	}
}

// Of returns a cursor before the states of a goroutine that reach into s.
func (c *Generation) Of(goroutine uint64, s stall.Span) Cursor {
	i, ok := c.trackOf(goroutine)
	if !ok {
		return Cursor{}
	}
	return c.tracks[i].in(s)
}

// BusyFrom returns when a goroutine began that began in the generation and has only waited
// for a CPU and run until t. It reports false of any other.
func (c *Generation) BusyFrom(goroutine uint64, t stall.Instant) (stall.Instant, bool) {
	i, ok := c.trackOf(goroutine)
	if !ok || !c.tracks[i].created || c.tracks[i].lost || len(c.tracks[i].index) == 0 {
		return 0, false
	}
	start := c.tracks[i].index[0].at
	return start, start < t && !c.tracks[i].parks(stall.Span{Start: start, End: t})
}

// parks reports whether the goroutine was parked in s, or its state is not known.
func (t track) parks(s stall.Span) bool {
	at := s.Start
	for w := t.in(s); w.Next(); at = w.End {
		if w.State.State == stall.StateParked || w.Start > at {
			return true
		}
	}
	return at < s.End
}

// nested is how many goroutines that are followed a coroutine stands in for at
// once: one that pulls from it, and one that pulls from that one, and so on.
const nested = 4

// standing returns the indexes of the tracks that what a goroutine did at a time belongs
// to: its own, and those of the goroutines that it stood in for as a coroutine. The
// list is valid until the next call.
func (c *Generation) standing(turns []gotrace.Turn, goroutine uint64, at stall.Instant) []int {
	c.found = c.found[:0]
	if i, ok := c.trackOf(goroutine); ok {
		c.found = append(c.found, i)
	}
	if len(turns) == 0 {
		return c.found
	}
	end, _ := slices.BinarySearchFunc(turns, at+1, func(t gotrace.Turn, at stall.Instant) int {
		return cmp.Or(cmp.Compare(t.Coroutine, goroutine), cmp.Compare(t.Start, at))
	})
	for _, t := range turns[max(end-nested, 0):end] {
		if t.Coroutine != goroutine || at > t.End {
			continue
		}
		if i, ok := c.trackOf(t.For); ok {
			c.found = append(c.found, i)
		}
	}
	return c.found
}
