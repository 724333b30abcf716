// Package timeline relates the two sources that see the stops of this process.
//
// The watcher (internal/gcwatch) misses no collection. Of each it knows when it
// ended, and how long it paused in all: fidelity cycle. The execution trace
// (internal/gotrace) runs now and then, and has every stop of that time: fidelity
// exact. A [Timeline] takes the batches of both. It answers which stops can reach
// into a window, each once ([Stops]), and hands out each collection and each other
// stop once, in the better fidelity ([Timeline.Settle]).
//
// Both sources number collections. The watcher's number is the runtime's index. The
// trace has none, so its source counts from the begin of each contiguous stretch,
// which is an epoch of its batches. The timeline finds out which index a stretch
// counts from by the end of one collection, and checks it with each further one.
// Where more than one collection may have ended then, the stretch stays without
// indexes until an end says more, and records keep the watcher's estimates.
package timeline

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	// Deadline is how long a source is waited for; then its part of the time counts
	// as unseen.
	Deadline = 3 * time.Second
	// StopLate is how much later the last stop of a collection may end than the
	// runtime says that the collection did.
	StopLate = time.Millisecond

	logIntervals = 8192 // per source: half a minute of a program that collects 100 times a second
	logUnseen    = 1024
	// maxStops is for how many of them the log makes room: a program that does nothing
	// but stop the world does so 25,000 times a second, and two such generations may
	// wait for the resolver.
	maxStops = 1 << 16
	// maxPatient is how many collections wait for the trace, and as many suspensions.
	maxPatient = 4096
	// maxHeld is how many wait where Settle is not called, since a function of the
	// program hangs. The oldest go first, counted.
	maxHeld = 4 * maxPatient
)

// Timeline relates the batches of the watcher with those of the execution trace.
// Each source may have a goroutine of its own. Settle has one caller.
type Timeline struct {
	// Cycle has what the watcher reported, and Exact what the trace did. They are
	// for reading.
	Cycle, Exact *stall.Log

	mu          sync.Mutex
	collections queue[record]
	suspensions queue[stall.Interval]
	buckets     []gcwatch.Bucket // pauses counted since the newest collection
	stretches   []*stretch       // oldest first
	traced      []traced
	begins      []begin
	matched     stall.Instant // start of the last exact suspension that the watcher saw, too
	near        []stall.Interval
	disagreed   Disagreement
}

// record is a collection as the watcher knows it.
type record struct {
	gc.Collection
	notice *notice
}

// New returns a timeline that begins at start.
func New(start stall.Instant) *Timeline {
	t := &Timeline{
		Cycle: stall.NewLog(stall.GCWatch, logIntervals, logUnseen),
		Exact: stall.NewLog(stall.GoTrace, logIntervals, logUnseen),
	}
	t.Cycle.Begin(start)
	t.Exact.Begin(start)
	return t
}

// Watched takes in a batch of the watcher. The buckets hold all pauses that the
// runtime counted since the batch before.
func (t *Timeline) Watched(b *source.Batch, pauses []gcwatch.Bucket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range b.Unseen {
		t.Cycle.MarkUnseen(s)
	}
	for _, v := range b.Intervals {
		t.Cycle.Add(v)
		if v.Cause == stall.RuntimeSuspension {
			t.suspensions.push(v)
		}
	}
	t.suspensions.limit(func(v *stall.Interval) (uint64, stall.Span) { return 1, reachOf(v) })
	t.buckets = append(t.buckets, pauses...)
	if len(b.Collections) > 0 {
		n := &notice{left: len(b.Collections), buckets: slices.Clone(t.buckets)}
		t.buckets = t.buckets[:0]
		for i := range b.Collections {
			t.collections.push(record{b.Collections[i].Clone(), n})
		}
		t.collections.limit(func(r *record) (uint64, stall.Span) {
			r.notice.settle(&r.Collection)
			return uint64(r.Cycles), r.Extent()
		})
	}
	t.Cycle.Advance(b.Watermark)
}

// Watermark returns the instant before which both sources have reported every stop.
func (t *Timeline) Watermark() stall.Instant { return min(t.Exact.Watermark(), t.Cycle.Watermark()) }

// Settle yields the collections and the suspensions whose fidelity is known: when the
// trace has passed them, or missed its deadline. A collection waits for passed as well.
// The buckets, with the last collection of a notice, are the pauses of all those of
// the notice that are in fidelity cycle. A suspension that is in the trace is not
// yielded. The functions must not call t.
func (t *Timeline) Settle(now, passed stall.Instant, collection func(*gc.Collection, []gcwatch.Bucket), suspension func(stall.Interval)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	watermark := t.Exact.Watermark()
	passed = min(passed, watermark)
	t.collections.settle(func(i int, full bool) bool {
		r := &t.collections.list[i]
		end, known := r.End.Get()
		if known && !full && now.Sub(end) <= Deadline && passed <= end.Add(StopLate) {
			return false
		}
		if known {
			t.refine(&r.Collection, t.endAfter(i))
		}
		collection(&r.Collection, r.notice.settle(&r.Collection))
		return true
	})
	t.suspensions.settle(func(i int, full bool) bool {
		v := &t.suspensions.list[i]
		reach := reachOf(v)
		if !full && now.Sub(reach.End) <= Deadline && watermark < reach.End {
			return false
		}
		if !t.inTrace(reach) {
			suspension(*v)
		}
		return true
	})
}

// endAfter returns when the collection after the i-th that waits ended, 0 if that is
// not known.
func (t *Timeline) endAfter(i int) stall.Instant {
	if i+1 >= len(t.collections.list) {
		return 0
	}
	return t.collections.list[i+1].End.Or(0)
}

// refine takes the figures of the trace for c, if it has the whole of it.
func (t *Timeline) refine(c *gc.Collection, next stall.Instant) {
	x, ok := t.take(c, next)
	if !ok || x.Incomplete != "" {
		return
	}
	runtime := c.PauseTotal()
	c.Pauses = append(c.Pauses[:0], x.Pauses...)
	c.Start, c.End = x.Start, x.End
	c.Trigger, c.TriggerSite = x.Trigger, x.TriggerSite
	c.Estimated &^= gc.FieldPauses | gc.FieldStart | gc.FieldEnd
	if !x.HeapBefore.IsZero() {
		c.HeapBefore = x.HeapBefore
		c.Estimated &^= gc.FieldHeapBefore
	}
	if !x.HeapAfter.IsZero() {
		c.HeapAfter = x.HeapAfter
	}
	c.Origin, c.Fidelity = x.Origin, x.Fidelity
	t.disagreed.compare(c, runtime)
}

// inTrace reports whether the trace has the suspension that lies in reach. At the edge
// of a stretch, where it watched for a part of it, it does if it has one that no other
// of the watcher's stands for.
func (t *Timeline) inTrace(reach stall.Span) bool {
	watched := t.Exact.Coverage(reach)
	if watched == 0 {
		return false
	}
	t.near = t.Exact.Intervals(t.near[:0], reach)
	for i := range t.near {
		v := &t.near[i]
		if v.Cause == stall.RuntimeSuspension && v.Start > t.matched {
			t.matched = v.Start
			return true
		}
	}
	return watched == 1
}

// Newest returns when the newest collection that waits ended, 0 for none.
func (t *Timeline) Newest() stall.Instant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.collections.list); n > 0 {
		return t.collections.list[n-1].End.Or(0)
	}
	return 0
}

// Waiting reports whether a collection that ended by at waits.
func (t *Timeline) Waiting(at stall.Instant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.collections.list) > 0 && t.collections.list[0].End.Or(0) <= at
}

// Settled returns the instant before which nothing waits: every collection and every
// suspension has been yielded, as far as it is known.
func (t *Timeline) Settled() stall.Instant {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := stall.Instant(math.MaxInt64)
	for i := range t.collections.list {
		for _, p := range t.collections.list[i].Pauses {
			at = min(at, p.Start.Add(-p.Slack))
		}
	}
	for i := range t.suspensions.list {
		at = min(at, reachOf(&t.suspensions.list[i]).Start)
	}
	return at
}

// Lost is what waited for too long, and where it lies.
type Lost struct {
	Count uint64
	stall.Span
}

// Lost returns what was not kept since the last call.
func (t *Timeline) Lost() (collections, suspensions Lost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	collections, suspensions = t.collections.lost, t.suspensions.lost
	t.collections.lost, t.suspensions.lost = Lost{}, Lost{}
	return collections, suspensions
}

// Disagreed returns the collections that the two sources disagreed on since the last
// call.
func (t *Timeline) Disagreed() Disagreement {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.disagreed
	t.disagreed = Disagreement{}
	return d
}

// queue holds what waits for the trace, in order.
type queue[T any] struct {
	list []T
	lost Lost
}

func (q *queue[T]) push(v T) { q.list = append(q.list, v) }

// limit gives up the oldest of too many. What returns how many one stands for, and
// where it lies.
func (q *queue[T]) limit(what func(*T) (uint64, stall.Span)) {
	over := len(q.list) - maxHeld
	for i := range max(0, over) {
		n, s := what(&q.list[i])
		if q.lost.Count == 0 {
			q.lost.Span = s
		}
		q.lost.Count += n
		q.lost.Start, q.lost.End = min(q.lost.Start, s.Start), max(q.lost.End, s.End)
	}
	q.list = slices.Delete(q.list, 0, max(0, over))
}

// settle removes those that try settles, up to the first that it does not. Full says
// that there are too many for one to wait.
func (q *queue[T]) settle(try func(i int, full bool) bool) {
	n := 0
	for n < len(q.list) && try(n, len(q.list)-n > maxPatient) {
		n++
	}
	q.list = slices.Delete(q.list, 0, n)
}
