package otelgc

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// sourceDeadline is how long a source is waited for; then its part of the
	// time counts as unseen.
	sourceDeadline = 3 * time.Second
	maxHeld        = 4096 // collections that wait for the exact source
	// mostHeld is how many wait, and suspensions as well, where nobody settles them,
	// since a function of the program's hangs. The oldest go first, counted.
	mostHeld = 4 * maxHeld
)

// reconciler records each collection once, by the better fidelity. It counts
// them by the watcher, which misses none, and takes the exact figures where the
// whole collection was traced.
type reconciler struct {
	store *traceStore
	host  *hostSide // nil for none

	mu       sync.Mutex
	held     []held
	disagree disagreement
	lost     loss                                          // collections over mostHeld, not yet told
	checked  func(c *gc.Collection, runtime time.Duration) // for measurements
}

// held is a collection of the watcher.
type held struct {
	gc.Collection
	notice *noticed
}

// hold keeps the collections of a notice until the exact source has passed them.
// The buckets hold all pauses that the runtime counted since the one before.
func (r *reconciler) hold(collections []gc.Collection, buckets []gcwatch.Bucket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &noticed{left: len(collections), buckets: slices.Clone(buckets)}
	for i := range collections {
		r.held = append(r.held, held{collections[i].Clone(), n})
	}
	if over := len(r.held) - mostHeld; over > 0 {
		for i := range r.held[:over] {
			c := &r.held[i]
			r.lost.add(uint64(c.Cycles), extentOf(&c.Collection))
			c.notice.settle(&c.Collection)
		}
		r.held = slices.Delete(r.held, 0, over)
	}
}

// takeLost returns the collections that were not kept since the last call.
func (r *reconciler) takeLost() loss {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := r.lost
	r.lost = loss{}
	return lost
}

// settle yields the collections whose fidelity is known, in order.
func (r *reconciler) settle(now stall.Instant, yield func(*held)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	watermark := r.store.log.Watermark()
	if r.host != nil {
		watermark = min(watermark, r.host.passed(now))
	}
	n := 0
	for ; n < len(r.held); n++ {
		c := &r.held[n]
		end, known := c.End.Get()
		late := len(r.held)-n > maxHeld || now.Sub(end) > sourceDeadline
		if known && !late && watermark <= end.Add(stopLate) {
			break
		}
		if known {
			r.refine(&c.Collection, end, r.endAfter(n))
		}
		yield(c)
	}
	r.held = slices.Delete(r.held, 0, n)
}

// endAfter returns the end of the collection after the i-th, 0 if it is not
// known.
func (r *reconciler) endAfter(i int) stall.Instant {
	if i+1 >= len(r.held) {
		return 0
	}
	return r.held[i+1].End.Or(0)
}

// newest returns when the newest collection that is unsettled ended, 0 for none.
func (r *reconciler) newest() stall.Instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.held); n > 0 {
		return r.held[n-1].End.Or(0)
	}
	return 0
}

// waiting reports whether a collection that ended by t is unsettled.
func (r *reconciler) waiting(t stall.Instant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held) > 0 && r.held[0].End.Or(0) <= t
}

// told returns the instant before which every pause has been told of: those of
// a collection are when it is settled, and until then nobody may resolve a
// window with them.
func (r *reconciler) told() stall.Instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := stall.Instant(math.MaxInt64)
	for i := range r.held {
		for _, p := range r.held[i].Pauses {
			at = min(at, p.Start.Add(-p.Slack))
		}
	}
	return at
}

// refine takes the exact figures for c, if the whole of it was traced. next is
// the end of the collection after it.
func (r *reconciler) refine(c *gc.Collection, end, next stall.Instant) {
	exact, ok := r.store.takeCycle(end, next, stall.Instant(slackOfEnd(c)))
	if !ok || !exact.whole {
		return
	}
	runtime := c.PauseTotal()
	c.Pauses = c.Pauses[:0]
	for _, s := range exact.stops {
		c.Pauses = append(c.Pauses, gc.Pause{
			Start: s.Start, End: s.over, EndMax: s.End, Phase: s.phase, Slack: traceTick,
		})
	}
	c.Start, c.End = gc.Known(exact.Begin), gc.Known(exact.End)
	c.Trigger, c.TriggerSite = exact.Trigger, exact.TriggerSite
	c.Estimated &^= gc.FieldPauses | gc.FieldStart | gc.FieldEnd
	if before, known := exact.HeapBefore.Get(); known {
		c.HeapBefore = gc.Known(before)
		c.Estimated &^= gc.FieldHeapBefore
	}
	if after, known := exact.HeapAfter.Get(); known {
		c.HeapAfter = gc.Known(after)
	}
	c.Origin, c.Fidelity = stall.GoTrace, stall.Exact
	r.check(c, runtime, exact.restarting())
}

// slackOfEnd is how far the watcher's end of c may be off: a step of the wall
// clock widens it.
func slackOfEnd(c *gc.Collection) time.Duration {
	if len(c.Pauses) == 0 {
		return 0
	}
	// Where the length is what is not known, the end still is.
	return min(c.Pauses[len(c.Pauses)-1].Slack, time.Millisecond)
}

// check compares the exact pauses of c with the runtime's own sum.
func (r *reconciler) check(c *gc.Collection, runtime, restarting time.Duration) {
	r.disagree.judge(c, runtime, restarting)
	if r.checked != nil {
		r.checked(c, runtime)
	}
}

// disagreed returns the collections that the two fidelities disagreed on since the
// last call.
func (r *reconciler) disagreed() disagreement {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.disagree
	r.disagree = disagreement{}
	return d
}
