package timeline

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	keptTraced    = 4096 // collections of the trace that were not taken
	keptBegins    = 4096
	keptStretches = 256
)

// stretch is contiguous time of the trace, in which collections are counted on.
type stretch struct {
	epoch  uint64
	before uint64 // collections of the stretches before: no two have one number
	last   uint64 // Ref
	known  bool   // whether it is known from which index it counts
	base   uint64 // the index of Ref 0, if known
}

// traced is a collection as the trace knows it.
type traced struct {
	gc.Collection // Index is its Ref
	*stretch
}

// begin is when a collection began.
type begin struct {
	at     stall.Instant
	number uint64
}

// Traced takes in a batch of the execution trace. The Index of a collection is the Ref
// of its stops. A collection of which something is missing says so in Incomplete.
func (t *Timeline) Traced(b *source.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range b.Unseen {
		t.Exact.MarkUnseen(u)
	}
	if len(b.Intervals)+len(b.Collections) > 0 {
		t.learn(b)
	}
	t.Exact.Advance(b.Watermark)
}

func (t *Timeline) learn(b *source.Batch) {
	s := t.stretchOf(b.Epoch)
	t.makeRoom(len(b.Intervals))
	for _, v := range b.Intervals {
		if v.Ref > s.last {
			s.last = v.Ref
			t.begin(v.Start, s)
		}
		if v.Ref != 0 {
			v.Ref += s.before
		}
		t.Exact.Add(v)
	}
	for i := range b.Collections {
		if len(b.Collections[i].Pauses) > 0 {
			t.traced = append(t.traced, traced{b.Collections[i].Clone(), s})
		}
	}
	t.traced = slices.Delete(t.traced, 0, max(0, len(t.traced)-keptTraced))
}

// stretchOf returns the stretch of an epoch, a new one if it is not the last. The
// collection that is under way then, if there is one, has Ref 1.
func (t *Timeline) stretchOf(epoch uint64) *stretch {
	s := &stretch{epoch: epoch, last: 1}
	if n := len(t.stretches); n > 0 {
		newest := t.stretches[n-1]
		if newest.epoch == epoch {
			return newest
		}
		s.before = newest.before + newest.last
	}
	t.stretches = append(t.stretches, s)
	if n := len(t.stretches); n >= 2*keptStretches {
		t.stretches = slices.Delete(t.stretches, 0, n-keptStretches)
	}
	t.begin(t.Exact.Watermark(), s)
	return s
}

func (t *Timeline) begin(at stall.Instant, s *stretch) {
	t.begins = append(t.begins, begin{at, s.before + s.last})
	if n := len(t.begins); n >= 2*keptBegins {
		t.begins = slices.Delete(t.begins, 0, n-keptBegins)
	}
}

// makeRoom has the log hold so many more stops beside as many of before, within
// maxStops: windows of this batch are still to be settled with all of it.
func (t *Timeline) makeRoom(more int) {
	if _, room := t.Exact.Size(); 2*more > room && room < maxStops {
		t.Exact.Resize(min(2*more, maxStops))
	}
}

// take returns what the trace knows of c, and forgets that and all before it. Next is
// when the collection after c ended, 0 if that is not known.
//
// It is the collection in whose last stop c ended. If there is none, since the wall
// clock was set and the end may be off, it is the one that has c's index by counting;
// or, where the stretch does not know its indexes yet, the only one that c may be. Each
// must be one that can have ended then.
func (t *Timeline) take(c *gc.Collection, next stall.Instant) (x traced, ok bool) {
	end, slack := c.End.Or(0), slackOfEnd(c)
	inside, counted, near, found := -1, -1, 0, -1
	for i := range t.traced {
		x := &t.traced[i]
		last := x.lastStop()
		if last.Start-slack > end {
			break
		}
		off := away(last, end)
		if off > slack {
			continue
		}
		if near, found = near+1, i; off == 0 {
			inside = i
		}
		if x.known && x.base+x.Index == c.Index {
			counted = i
		}
	}
	switch {
	case inside >= 0:
		found = inside
	case counted >= 0 && next != 0 && away(t.traced[counted].lastStop(), next) == 0:
		t.traced[counted].known = false // it is the next one: here the trace lacks one
		return traced{}, false
	case counted >= 0:
		found = counted
	case near != 1 || t.traced[found].known || nearer(t.traced[found].lastStop(), next, end):
		return traced{}, false
	}
	x = t.traced[found]
	x.known, x.base = true, c.Index-x.Index
	t.traced = slices.Delete(t.traced, 0, found+1)
	return x, true
}

// lastStop returns the stop in which the collection ended.
func (x *traced) lastStop() stall.Span {
	p := &x.Pauses[len(x.Pauses)-1]
	return stall.Span{Start: p.Start, End: p.EndMax}
}

// nearer reports whether s lies nearer to t than to u, where t comes after u.
func nearer(s stall.Span, t, u stall.Instant) bool { return t > u && away(s, t) < away(s, u) }

// away returns how far t lies outside of s.
func away(s stall.Span, t stall.Instant) stall.Instant { return max(0, s.Start-t, t-s.End) }

// slackOfEnd is how far the watcher's end of c may be off: a step of the wall clock
// widens it.
func slackOfEnd(c *gc.Collection) stall.Instant {
	if len(c.Pauses) == 0 {
		return 0
	}
	// Where the length is what is not known, the end still is.
	return stall.Instant(min(c.Pauses[len(c.Pauses)-1].Slack, time.Millisecond))
}

// unindexed marks a number of the timeline's that is no index of the runtime's.
const unindexed = 1 << 63

// Number returns the index of a collection that an earlier answer had another number
// for, since its index was not known yet. Where it still is not, it is ref.
func (t *Timeline) Number(ref uint64) uint64 {
	if ref&unindexed == 0 {
		return ref
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number(ref &^ unindexed)
}

// number returns the index of a collection of the trace, or n marked as no index.
func (t *Timeline) number(n uint64) uint64 {
	i, _ := slices.BinarySearchFunc(t.stretches, n, func(s *stretch, n uint64) int {
		if s.before < n {
			return -1
		}
		return 1
	})
	if i--; i < 0 || !t.stretches[i].known {
		return n | unindexed
	}
	s := t.stretches[i]
	return s.base + n - s.before
}
