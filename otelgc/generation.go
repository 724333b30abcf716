package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
)

// keptGenerations is how many generations, about a second each, are kept at most for
// what is not settled. The resolver gives them back when all windows in them
// are, after a second or two; what it is later than that with is unseen.
const keptGenerations = 8

const (
	// maxStates bounds the states that a generation keeps, in bytes: 100,000 requests
	// a second that change state six times each.
	maxStates = 2 << 20
	// maxTrack is how many states of one goroutine are kept before those of all
	// others are, so that one that does nothing but yield cannot crowd them out.
	maxTrack = 1 << 17
)

// generation is what one generation of the trace says of goroutines: a copy, in memory that is
// used again.
type generation struct {
	span    stall.Span
	marks   slotMarks
	tracks  []track      // by goroutine
	states  stateLog     // the memory of tracks
	assists []assist     // and of what their goroutines did for the collector
	made    []selfStop   // stops of the world by goroutines that are followed
	workers []stall.Span // when a worker above idle priority held a P: merged
	found   []int        // of whose
}

// learn copies what g says of goroutines. It returns of how many goroutines
// something was too much to keep: their windows are unseen.
func (c *generation) learn(g *gotrace.Generation, pace *pacer.Pacer) (lost uint64) {
	c.span = g.Span
	c.marks.learn(g.Marks)
	pace.Breathe()
	lost = c.learnTracks(g.Tracks, pace)
	pace.Breathe()
	lost += c.learnRanges(g)
	pace.Breathe()
	lost += c.learnSelfStops(g)
	c.learnWorkers(g.Workers)
	return lost
}

// learnTracks copies the states, those of goroutines with very many last, for as
// long as there is room.
func (c *generation) learnTracks(tracks []gotrace.Track, pace *pacer.Pacer) (lost uint64) {
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
			pace.Breathe()
		}
	}
	slices.SortFunc(c.tracks, func(a, b track) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
}

// learnTrack reports whether there was room for a goroutine's states.
func (c *generation) learnTrack(t *gotrace.Track) bool {
	kept, ok := c.states.put(t)
	c.tracks = append(c.tracks, kept)
	return ok
}

// lose forgets a goroutine of which something is missing: what is left of it
// would be taken for the whole.
func (c *generation) lose(i int) {
	c.tracks[i] = track{goroutine: c.tracks[i].goroutine, ended: c.tracks[i].ended, lost: true}
}

// endOf returns when a goroutine ended, if it did: by the end of the generation where
// nobody knows it better.
func (c *generation) endOf(goroutine uint64) (stall.Instant, bool) {
	i, ok := c.trackOf(goroutine)
	switch {
	case !ok || !c.tracks[i].ended:
		return 0, false
	case c.tracks[i].lost:
		return c.span.End, true
	}
	return c.tracks[i].until, true
}

func (c *generation) trackOf(goroutine uint64) (int, bool) {
	return slices.BinarySearchFunc(c.tracks, goroutine, func(t track, id uint64) int {
		return cmp.Compare(t.goroutine, id)
	})
}

// learnWorkers merges the turns of workers, sorted by Start, into the spans in
// which at least one held a P.
func (c *generation) learnWorkers(workers []gotrace.Worker) {
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

// traceTick is the resolution of the trace's clock: an event may be stamped up to
// that much before it was.
const traceTick = 64

// track begins a walk over the states of a goroutine that reach into s.
func (c *generation) track(goroutine uint64, s stall.Span) cursor {
	i, ok := c.trackOf(goroutine)
	if !ok {
		return cursor{}
	}
	return c.tracks[i].in(s)
}

// nested is how many goroutines that are followed a coroutine stands in for at
// once: one that pulls from it, and one that pulls from that one, and so on.
const nested = 4

// whose returns the places of the tracks that have what a goroutine did at a time:
// its own, and those of the goroutines that it stood in for as a coroutine. The
// list is valid until the next call.
func (c *generation) whose(turns []gotrace.Turn, goroutine uint64, at stall.Instant) []int {
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
