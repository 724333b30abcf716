package evidence

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// maxPauses bounds the stops of one collection: mark termination may be retried.
const maxPauses = 4096

// Batches makes batches of what a trace has of stops and collections. An epoch is
// a contiguous stretch of the trace. In it a collection's Ref is 1 if it is the one
// that is under way at the begin, and then counts on with each that begins.
type Batches struct {
	Batch  source.Batch  // what was learned since Begin
	seen   stall.Instant // the end of what was watched, or known to be unseen
	ref    uint64        // of the collection that began last
	ended  bool          // it has
	pauses []gc.Pause    // of it so far
	broken bool          // the next generation begins an epoch
}

// NewBatches returns Batches for what a trace has from start on.
func NewBatches(start stall.Instant) Batches { return Batches{seen: start, broken: true} }

// Begin begins a batch.
func (b *Batches) Begin() {
	b.Batch.Unseen, b.Batch.Intervals, b.Batch.Collections = b.Batch.Unseen[:0], b.Batch.Intervals[:0], b.Batch.Collections[:0]
}

// UnseenUntil says that nothing was traced from what was seen last to t. It reports
// whether that is any time.
func (b *Batches) UnseenUntil(t stall.Instant) bool {
	if t <= b.seen {
		return false
	}
	b.Batch.Unseen = append(b.Batch.Unseen, stall.Span{Start: b.seen, End: t})
	b.seen, b.Batch.Watermark, b.broken = t, t, true
	return true
}

// Learn adds what a generation says. One that lost something is as good as unseen, but
// what it did show stays.
func (b *Batches) Learn(g *gotrace.Generation) {
	if b.broken || g.Lost.Stops > 0 {
		b.Batch.Epoch++
		b.ref, b.ended, b.pauses = 1, false, b.pauses[:0]
	}
	b.broken = g.Lost.Stops > 0
	for s, c := range gotrace.InOrder(g.Stops, g.Cycles) {
		if c != nil {
			b.end(c)
		} else {
			b.stop(s)
		}
	}
	if l := &g.Lost; l.Stops > 0 || l.Transitions > 0 || l.Ranges > 0 || l.Workers > 0 {
		b.Batch.Unseen = append(b.Batch.Unseen, g.Span)
	}
	b.seen = max(b.seen, g.End)
	b.Batch.Watermark = b.seen
}

// stop adds a stop of the world. Each collection begins with the one that terminates
// the sweep of the collection before.
func (b *Batches) stop(s *gotrace.Stop) {
	v := Interval(s)
	if s.GC {
		if b.ended || s.Phase == gc.SweepTermination {
			b.ref, b.ended, b.pauses = b.ref+1, false, b.pauses[:0]
		}
		if len(b.pauses) == maxPauses {
			b.pauses = b.pauses[:0]
		}
		v.Ref = b.ref
		b.pauses = append(b.pauses, s.Pause())
	}
	b.Batch.Intervals = append(b.Batch.Intervals, v)
}

// end adds a collection: the last of its stops is the one in which it ended.
func (b *Batches) end(c *gotrace.Cycle) {
	b.ended = true
	if c.Partial || len(b.pauses) == 0 {
		b.pauses = b.pauses[:0]
		return
	}
	x, whole := c.Collection(b.pauses)
	if x.Index = b.ref; !whole {
		x.Incomplete = "the trace lacks a part of it"
	}
	b.Batch.Collections = append(b.Batch.Collections, x)
}

// Interval returns a stop as it was for all goroutines but the one that made it.
func Interval(s *gotrace.Stop) stall.Interval {
	return stall.Interval{Start: s.Start, End: s.Over(), Slack: gotrace.Tick, Cause: stopCause(s.GC), Origin: stall.GoTrace}
}

func stopCause(gc bool) stall.Cause {
	if gc {
		return stall.GCPause
	}
	return stall.RuntimeSuspension
}
