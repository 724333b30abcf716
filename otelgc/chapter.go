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
	marks   []mark          // by slot, then time
	joins   []mark          // of child goroutines, by time
	tracks  []track         // by goroutine
	states  []packed        // the memory of tracks
	ranges  []gotrace.Range // by goroutine, then start
	workers []stall.Span    // when a worker above idle priority held a P: merged
}

// mark is where a window of a slot began or ended.
type mark struct {
	at        stall.Instant
	goroutine uint64
	slot      int16
	end       bool
}

// learn copies what g says of goroutines. It returns how many goroutines' states
// were too many to keep: their windows are unseen.
func (c *chapter) learn(g *gotrace.Generation, pace *pacer) (lost uint64) {
	c.span = g.Span
	c.learnMarks(g.Marks)
	pace.breathe()
	lost = c.learnTracks(g.Tracks)
	pace.breathe()
	lost += c.learnRanges(g.Ranges)
	pace.breathe()
	slices.SortFunc(c.ranges, func(a, b gotrace.Range) int {
		return cmp.Or(cmp.Compare(a.Goroutine, b.Goroutine), cmp.Compare(a.Start, b.Start))
	})
	c.learnWorkers(g.Workers)
	return lost
}

func (c *chapter) learnMarks(marks []gotrace.Mark) {
	c.marks, c.joins = c.marks[:0], c.joins[:0]
	for i := range marks {
		if slot, end, ok := slotOf(marks[i].Key); ok {
			c.marks = append(c.marks, mark{marks[i].At, marks[i].Goroutine, slot, end})
		} else if slot, leave, ok := joinOf(marks[i].Key); ok {
			c.joins = append(c.joins, mark{marks[i].At, marks[i].Goroutine, slot, leave})
		}
	}
	slices.SortFunc(c.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.at, b.at))
	})
}

// learnTracks copies the states, those of goroutines with very many last, for as
// long as there is room.
func (c *chapter) learnTracks(tracks []gotrace.Track) (lost uint64) {
	total := 0
	for _, t := range tracks {
		total += len(t.Spans)
	}
	// In one step: memory that grows is garbage, and large garbage is assists.
	c.states = slices.Grow(c.states[:0], min(total, maxSpans))
	c.tracks = slices.Grow(c.tracks[:0], len(tracks))
	for _, long := range [...]bool{false, true} {
		for _, t := range tracks {
			n := len(t.Spans)
			if (n > maxTrack) != long {
				continue
			}
			if len(c.states)+packedLen(t.Spans) > maxSpans {
				lost++
				continue
			}
			kept := track{goroutine: t.Goroutine}
			kept.start, c.states, kept.states = appendTrack(c.states, t.Spans)
			c.tracks = append(c.tracks, kept)
		}
	}
	slices.SortFunc(c.tracks, func(a, b track) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return lost
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

// goroutineOf returns who carried the window that held slot during s: the last
// mark in it is the window's own.
func (c *chapter) goroutineOf(slot int16, s stall.Span) (uint64, bool) {
	after := mark{slot: slot, at: s.End + 1}
	i, _ := slices.BinarySearchFunc(c.marks, after, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.at, b.at))
	})
	if i == 0 {
		return 0, false
	}
	last := &c.marks[i-1]
	if last.slot != slot || last.at < s.Start {
		return 0, false
	}
	return last.goroutine, true
}

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
