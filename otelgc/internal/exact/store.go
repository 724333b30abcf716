package exact

import (
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/evidence"
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
	stops      evidence.Batches
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
		stops:    evidence.NewBatches(start),
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
	b.stops.Begin()
	b.unseenUntil(t)
	b.timeline.Traced(&b.stops.Batch)
}

// unseenUntil breaks what is known at a hole.
func (b *Store) unseenUntil(t stall.Instant) {
	if b.stops.UnseenUntil(t) {
		b.keepOpen()
	}
}

// Learn takes in one generation, and keeps nothing of g. It returns the goroutines that
// need not be followed further, and of how many something was too much to keep.
func (b *Store) Learn(g *gotrace.Generation, pace *pacer.Pacer) (unfollow []uint64, lost uint64) {
	lost = b.spare.learn(g, pace)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops.Begin()
	b.unseenUntil(g.Start)
	b.stops.Learn(g)
	b.carry(b.spare.marks.all, g.End)
	b.compact()
	b.timeline.Traced(&b.stops.Batch) // last: by its watermark the generation is found
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
	for n < len(b.live) && b.live[n].Span.End <= t {
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
	return len(b.live) > 0 && b.live[0].Span.End <= t
}

// KeptGenerations is how many generations, about a second each, are kept at most for
// what is not settled. The resolver gives them back when all windows in them
// are, after a second or two; what it is later than that with is unseen.
const KeptGenerations = 8

// generation is what one generation of the trace says of goroutines and windows, in memory
// that is used again.
type generation struct {
	evidence.Generation
	marks slotMarks
	raw   raw
}

// learn copies what g says. It returns of how many goroutines something was too much to
// keep: their windows are unseen.
func (c *generation) learn(g *gotrace.Generation, pace *pacer.Pacer) (lost uint64) {
	c.marks.learn(g.Marks)
	pace.Breathe()
	return c.Learn(g, pace.Breathe)
}
