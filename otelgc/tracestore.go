package otelgc

import (
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// traceStore holds what exact fidelity found, until windows and collections have been
// resolved with it.
type traceStore struct {
	timeline *timeline.Timeline // takes the stops and collections
	slots    *window.Slots
	error    time.Duration // of the trace's clock against ours

	mu         sync.Mutex
	live       []*generation           // that windows are not settled with, oldest first
	spare      *generation             // of the decoder's goroutine
	blank      *generation             // memory for another
	oneP       bool                    // GOMAXPROCS is 1
	carrying   map[uint64]int          // goroutines with open windows, and how many
	holders    map[int16]*holder       // by slot: who carries its window
	last       [window.SlotCount]int32 // by slot: place of its last mark, of carry
	stops      traceBatch
	overflowed uint64 // children that did not count, not yet told
}

func newTraceStore(start stall.Instant, clock stall.Clock, slots *window.Slots) *traceStore {
	b := &traceStore{
		error:    traceTick + clock.Error(),
		timeline: timeline.New(start),
		slots:    slots,
		carrying: make(map[uint64]int),
		holders:  make(map[int16]*holder),
		spare:    new(generation),
		stops:    traceBatch{seen: start, broken: true},
	}
	return b
}

// setProcessors says how many Ps there are.
func (b *traceStore) setProcessors(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.oneP = n == 1
}

// learnUnseen says that nobody watched from what was seen last to t.
func (b *traceStore) learnUnseen(t stall.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops.begin()
	b.unseenUntil(t)
	b.timeline.Traced(&b.stops.batch)
}

// unseenUntil breaks what is known at a hole.
func (b *traceStore) unseenUntil(t stall.Instant) {
	if b.stops.unseenUntil(t) {
		b.keepOpen()
	}
}

// learn takes in one generation. It returns the goroutines that need not be followed
// further, and how many goroutines could not be.
func (b *traceStore) learn(g *gotrace.Generation, pace *pacer.Pacer) (unfollow []uint64, lost uint64) {
	lost = b.spare.learn(g, pace)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops.begin()
	b.unseenUntil(g.Start)
	b.stops.learn(g)
	b.carry(b.spare.marks.all, g.End)
	b.compact()
	b.timeline.Traced(&b.stops.batch) // whoever sees its watermark finds the generation
	for i := range g.Tracks {
		if id := g.Tracks[i].Goroutine; b.carrying[id] == 0 {
			unfollow = append(unfollow, id)
		}
	}
	return unfollow, lost
}

// compact keeps what was learned, and has other memory ready. Where the resolver
// is behind by too much, the oldest generation is forgotten.
func (b *traceStore) compact() {
	if len(b.live) == keptGenerations {
		b.forget(1)
	}
	b.live = append(b.live, b.spare)
	marks := b.spare.marks.all // nobody asks for them any more
	b.spare.marks.all = nil
	b.spare, b.blank = b.blank, nil
	if b.spare == nil {
		b.spare = new(generation)
	}
	b.spare.marks.all = marks
}

// forget gives up the n oldest generations, and keeps the memory of one.
func (b *traceStore) forget(n int) {
	if n == 0 {
		return
	}
	b.blank = b.live[0]
	b.live = slices.Delete(b.live, 0, n)
}

// settled gives up the generations that end by t.
func (b *traceStore) settled(t stall.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.live) && b.live[n].span.End <= t {
		n++
	}
	b.forget(n)
}

// giveBack lets go of the memory that no generation uses. No slice is traced.
func (b *traceStore) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare, b.blank = new(generation), nil
}

// unsettled reports whether there are generations that end by t.
func (b *traceStore) unsettled(t stall.Instant) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.live) > 0 && b.live[0].span.End <= t
}
