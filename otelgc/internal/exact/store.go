package exact

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// Store holds what exact fidelity found, until windows and collections have been
// resolved with it.
type Store struct {
	timeline *timeline.Timeline // takes the stops and collections
	slots    *window.Slots
	error    time.Duration // of the trace's clock against ours

	mu         sync.Mutex
	live       []*generation           // that windows are not settled with, oldest first
	spare      *generation             // of the decoder's goroutine
	blank      *generation             // memory for another
	oneP       bool                    // GOMAXPROCS is 1
	carrying   map[uint64]int          // goroutines with open windows, and how many
	holders    map[int16]*holder       // by slot
	last       [window.SlotCount]int32 // by slot: place of its last mark, of carry
	stops      traceBatch
	raw        rawStore
	overflowed uint64 // children that did not count, see TakeOverflow
}

// NewStore returns a store for what the trace has from start on. The timeline takes the
// stops and the collections.
func NewStore(start stall.Instant, clock stall.Clock, slots *window.Slots, t *timeline.Timeline) *Store {
	b := &Store{
		error:    gotrace.Tick + clock.Error(),
		timeline: t,
		slots:    slots,
		carrying: make(map[uint64]int),
		holders:  make(map[int16]*holder),
		spare:    new(generation),
		stops:    traceBatch{seen: start, broken: true},
	}
	return b
}

// SetProcessors sets how many Ps there are.
func (b *Store) SetProcessors(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.oneP = n == 1
}

// LearnUnseen says that nothing was traced from what was seen last to t.
func (b *Store) LearnUnseen(t stall.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops.begin()
	b.unseenUntil(t)
	b.timeline.Traced(&b.stops.batch)
}

// unseenUntil breaks what is known at a hole.
func (b *Store) unseenUntil(t stall.Instant) {
	if b.stops.unseenUntil(t) {
		b.keepOpen()
	}
}

// Learn takes in one generation, and keeps nothing of g. It returns the goroutines that
// need not be followed further, and of how many something was too much to keep.
func (b *Store) Learn(g *gotrace.Generation, pace *pacer.Pacer) (unfollow []uint64, lost uint64) {
	lost = b.spare.learn(g, pace)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops.begin()
	b.unseenUntil(g.Start)
	b.stops.learn(g)
	b.carry(b.spare.marks.all, g.End)
	b.compact()
	b.timeline.Traced(&b.stops.batch) // last: by its watermark the generation is found
	for i := range g.Tracks {
		if id := g.Tracks[i].Goroutine; b.carrying[id] == 0 {
			unfollow = append(unfollow, id)
		}
	}
	return unfollow, lost
}

// compact keeps what was learned, and has other memory ready. Where the resolver
// is behind by too much, the oldest generation is forgotten.
func (b *Store) compact() {
	if len(b.live) == KeptGenerations {
		b.forget(1)
	}
	b.live = append(b.live, b.spare)
	b.limitRaw()
	marks := b.spare.marks.all // not needed any more
	b.spare.marks.all = nil
	b.spare, b.blank = b.blank, nil
	if b.spare == nil {
		b.spare = new(generation)
	}
	b.spare.marks.all = marks
}

// forget gives up the n oldest generations, and keeps the memory of one.
func (b *Store) forget(n int) {
	if n == 0 {
		return
	}
	for _, c := range b.live[:n] {
		b.raw.release(&c.raw)
	}
	b.blank = b.live[0]
	b.live = slices.Delete(b.live, 0, n)
}

// Settled gives up the generations that end by t.
func (b *Store) Settled(t stall.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.live) && b.live[n].span.End <= t {
		n++
	}
	b.forget(n)
}

// giveBack lets go of the memory that no generation uses. No slice is traced.
func (b *Store) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare, b.blank = new(generation), nil
}

// Unsettled reports whether there are generations that end by t.
func (b *Store) Unsettled(t stall.Instant) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.live) > 0 && b.live[0].span.End <= t
}

// KeptGenerations is how many generations, about a second each, are kept at most for
// what is not settled. The resolver gives them back when all windows in them
// are, after a second or two; what it is later than that with is unseen.
const KeptGenerations = 8

const (
	// maxStates bounds the states that a generation keeps, in bytes: 100,000 requests
	// a second that change state six times each.
	maxStates = 2 << 20
	// maxTrack is how many states of one goroutine are kept before those of all
	// others are, so that one that does nothing but yield cannot crowd them out.
	maxTrack = 1 << 17
)

// generation has what one generation of the trace says of goroutines, in memory that is
// used again.
type generation struct {
	span    stall.Span
	marks   slotMarks
	tracks  []track      // by goroutine
	states  stateLog     // the memory of tracks
	assists []assist     // and of what their goroutines did for the collector
	made    []selfStop   // stops of the world by goroutines that are followed
	workers []stall.Span // when a worker above idle priority held a P: merged
	found   []int        // of standing
	raw     raw
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

// endOf returns when a goroutine ended, if it did: the end of the generation where it is
// not known better.
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

// standing returns the indexes of the tracks that what a goroutine did at a time belongs
// to: its own, and those of the goroutines that it stood in for as a coroutine. The
// list is valid until the next call.
func (c *generation) standing(turns []gotrace.Turn, goroutine uint64, at stall.Instant) []int {
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
