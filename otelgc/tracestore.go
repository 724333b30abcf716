package otelgc

import (
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const (
	logIntervals = 8192 // per source: half a minute of a program that collects 100 times a second
	logUnseen    = 1024
	// mostStops is for how many of them a store makes room: a program that does nothing
	// but stop the world does so 25,000 times a second, and two such generations may
	// wait for the resolver.
	mostStops = 1 << 16
)

// traceStore holds what exact fidelity found, until windows and collections have been
// resolved with it.
type traceStore struct {
	log    *stall.Log    // stops; where the runtime was watched
	error  time.Duration // of the trace's clock against ours
	begins *begins

	slots *slots // nil: nothing is known of windows but what the trace says

	mu         sync.Mutex
	live       []*generation     // that windows are not settled with, oldest first
	spare      *generation       // of the decoder's goroutine
	blank      *generation       // memory for another
	oneP       bool              // GOMAXPROCS is 1
	carrying   map[uint64]int    // goroutines with open windows, and how many
	holders    map[int16]*holder // by slot: who carries its window
	last       [slotCount]int32  // by slot: place of its last mark, of carry
	stops      []exactStop       // not yet taken by a collection or a suspension
	cycles     []exactCycle
	seen       stall.Instant // the end of what was watched, or known to be unseen
	overflowed uint64        // children that did not count, not yet told
}

func newTraceStore(start stall.Instant, clock stall.Clock) *traceStore {
	b := &traceStore{
		error:    traceTick + clock.Error(),
		log:      stall.NewLog(stall.GoTrace, logIntervals, logUnseen),
		carrying: make(map[uint64]int),
		holders:  make(map[int16]*holder),
		begins:   new(begins),
		spare:    new(generation),
		seen:     start,
	}
	b.log.Begin(start)
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
	b.unseenUntil(t)
	b.log.Advance(t)
}

// unseenUntil breaks what is known at a hole: a collection that lies across it
// was not seen whole.
func (b *traceStore) unseenUntil(t stall.Instant) {
	if t <= b.seen {
		return
	}
	b.log.MarkUnseen(stall.Span{Start: b.seen, End: t})
	b.seen = t
	b.stops = b.stops[:0]
	b.keepOpen()
}

// learn takes in one generation. It returns the stops that are not of a
// collection, the goroutines that need not be followed further, and how many
// goroutines could not be.
func (b *traceStore) learn(g *gotrace.Generation, pace *pacer) (others []exactStop, unfollow []uint64, lost uint64) {
	lost = b.spare.learn(g, pace)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unseenUntil(g.Start)
	b.makeRoom(len(g.Stops))
	for i := range g.Stops {
		s := newStop(&g.Stops[i])
		b.log.Add(s.interval())
		if s.gc {
			b.begins.addExact(&s)
			b.stops = append(b.stops, s)
		} else {
			others = append(others, s)
		}
	}
	for i := range g.Cycles {
		b.learnCycle(&g.Cycles[i])
	}
	b.carry(b.spare.marks.all, g.End)
	b.compact()
	b.advance(g)
	b.bound()
	for i := range g.Tracks {
		if id := g.Tracks[i].Goroutine; b.carrying[id] == 0 {
			unfollow = append(unfollow, id)
		}
	}
	return others, unfollow, lost
}

// makeRoom has the log hold so many more stops beside as many of before, within
// mostStops: windows of this generation are still to be settled with all of it.
func (b *traceStore) makeRoom(more int) {
	if _, room := b.log.Size(); 2*more > room && room < mostStops {
		b.log.Resize(min(2*more, mostStops))
	}
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

// advance says how far the runtime has been watched. A generation that lost
// something is as good as unseen, but what it did show stays.
func (b *traceStore) advance(g *gotrace.Generation) {
	if l := &g.Lost; l.Stops > 0 || l.Transitions > 0 || l.Ranges > 0 || l.Workers > 0 {
		b.log.MarkUnseen(g.Span)
	}
	b.seen = max(b.seen, g.End)
	b.log.Advance(b.seen)
}
