package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// chapters is how many generations, about a second each, are kept at most for
// what is not settled. The resolver gives them back when all windows in them
// are, after a second or two; what it is later than that with is unseen.
const chapters = 8

const (
	// maxSpans bounds the states that a chapter keeps, 8 bytes each: 20,000
	// requests a second that change state six times each.
	maxSpans = 1 << 17
	// maxTrack is how many of one goroutine are kept before those of all others
	// are, so that one that does nothing but yield cannot crowd them out.
	maxTrack = 1 << 15
	// maxRanges bounds the assists and sweeps that a chapter keeps.
	maxRanges = 1 << 16
)

// chapter is what one generation says of goroutines: a copy, in memory that is
// used again.
type chapter struct {
	span    stall.Span
	marks   slotMarks
	tracks  []track         // by goroutine
	states  []packed        // the memory of tracks
	ranges  []gotrace.Range // by goroutine, then start
	made    []madeStop      // stops of the world by goroutines that are followed
	workers []stall.Span    // when a worker above idle priority held a P: merged
}

// learn copies what g says of goroutines. It returns how many goroutines' states
// were too many to keep: their windows are unseen.
func (c *chapter) learn(g *gotrace.Generation, pace *pacer) (lost uint64) {
	c.span = g.Span
	c.marks.learn(g.Marks)
	pace.breathe()
	lost = c.learnTracks(g.Tracks, pace)
	pace.breathe()
	lost += c.learnRanges(g.Ranges)
	pace.breathe()
	slices.SortFunc(c.ranges, func(a, b gotrace.Range) int {
		return cmp.Or(cmp.Compare(a.Goroutine, b.Goroutine), cmp.Compare(a.Start, b.Start))
	})
	lost += c.learnMade(g.Stops)
	c.learnWorkers(g.Workers)
	return lost
}

// learnTracks copies the states, those of goroutines with very many last, for as
// long as there is room.
func (c *chapter) learnTracks(tracks []gotrace.Track, pace *pacer) (lost uint64) {
	total := 0
	for i := range tracks {
		total += tracks[i].Most
	}
	// In one step: memory that grows is garbage, and large garbage is assists.
	c.states = slices.Grow(c.states[:0], min(total, maxSpans))
	c.tracks = slices.Grow(c.tracks[:0], len(tracks))
	for _, long := range [...]bool{false, true} {
		for i := range tracks {
			if t := &tracks[i]; (t.Most > maxTrack) == long && !c.learnTrack(t) {
				lost++
			}
			pace.breathe()
		}
	}
	slices.SortFunc(c.tracks, func(a, b track) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
}

// learnTrack reports whether there was room for a goroutine's states.
func (c *chapter) learnTrack(t *gotrace.Track) bool {
	first := len(c.states)
	start, states, ok := appendTrack(c.states, t, maxSpans)
	if c.states = states; ok {
		c.tracks = append(c.tracks, track{goroutine: t.Goroutine, start: start, states: states[first:]})
	}
	return ok
}

// learnRanges keeps the ranges of goroutines that are followed.
func (c *chapter) learnRanges(ranges []gotrace.Range) (lost uint64) {
	c.ranges = c.ranges[:0]
	for i := range ranges {
		if _, followed := c.trackOf(ranges[i].Goroutine); !followed {
			continue
		}
		if len(c.ranges) >= maxRanges {
			lost++
			continue
		}
		c.ranges = append(c.ranges, ranges[i])
	}
	return lost
}

func (c *chapter) trackOf(goroutine uint64) (int, bool) {
	return slices.BinarySearchFunc(c.tracks, goroutine, func(t track, id uint64) int {
		return cmp.Compare(t.goroutine, id)
	})
}

// learnWorkers merges the turns of workers, sorted by Start, into the spans in
// which at least one held a P.
func (c *chapter) learnWorkers(workers []gotrace.Worker) {
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
func (c *chapter) track(goroutine uint64, s stall.Span) walk {
	i, ok := c.trackOf(goroutine)
	if !ok {
		return walk{}
	}
	return c.tracks[i].in(s)
}

// deepest is how many assists and sweeps of one goroutine may be within each
// other.
const deepest = 4

// rangesOf returns the assists and sweeps of a goroutine that may reach into s.
func (c *chapter) rangesOf(goroutine uint64, s stall.Span) []gotrace.Range {
	at := func(r gotrace.Range, t stall.Instant) int {
		return cmp.Or(cmp.Compare(r.Goroutine, goroutine), cmp.Compare(r.Start, t))
	}
	from, _ := slices.BinarySearchFunc(c.ranges, s.Start, at)
	to, _ := slices.BinarySearchFunc(c.ranges, s.End, at)
	for range deepest {
		if from > 0 && c.ranges[from-1].Goroutine == goroutine {
			from--
		}
	}
	for from < to && c.ranges[from].End <= s.Start {
		from++
	}
	return c.ranges[from:to]
}
