package otelgc

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// noticed is what the collections of one notice have in common: the buckets of
// their pauses. Each pause is a sample of the histogram once. An exact record
// brings its own samples, so its pauses are taken out of the buckets, and what
// is left when the last one is settled is of those in fidelity cycle.
type noticed struct {
	left    int // collections that are not settled
	cycle   int // settled in fidelity cycle
	buckets []gcwatch.Bucket
}

// settle takes one collection of the notice. It returns the samples that are
// left, with the last one.
func (n *noticed) settle(c *gc.Collection) []gcwatch.Bucket {
	n.left--
	if c.Fidelity == stall.Cycle {
		n.cycle++
	} else {
		for _, p := range c.Pauses {
			n.takeOut(p.Duration().Seconds())
		}
	}
	if n.left > 0 || n.cycle == 0 {
		return nil
	}
	return n.buckets
}

// takeOut removes the pause that is nearest: the exact figure is a little longer
// than the runtime's.
func (n *noticed) takeOut(seconds float64) {
	best, distance := -1, math.Inf(1)
	for i := range n.buckets {
		if d := math.Abs(n.buckets[i].Middle - seconds); d < distance {
			best, distance = i, d
		}
	}
	if best < 0 {
		return
	}
	if n.buckets[best].Count--; n.buckets[best].Count == 0 {
		n.buckets = slices.Delete(n.buckets, best, best+1)
	}
}

// The two fidelities check each other: a difference of the pauses of a collection
// above both is counted.
const (
	disagreeShare = 0.2
	disagreeTime  = 50 * time.Microsecond
)

// disagreement counts the collections on whose pauses the two fidelities disagree,
// by who is wrong. The runtime stamps the begin of a pause after that of its stop
// in the trace, and the end before it (runtime/proc.go, stopTheWorldWithSema and
// startTheWorldWithSema), on the same thread and clock.
type disagreement struct {
	// missing: the runtime's own sum is longer than all stops of the trace, in
	// which it lies. A stop is missing, or is another collection's.
	missing uint64
	// delayed: the trace's pauses are longer, and it was not the restart of the
	// world that took the time. Between the two stamps, a few instructions apart,
	// the thread that stopped the world was held up.
	delayed uint64
}

// judge compares the exact pauses of c with the runtime's own sum. The runtime
// takes the end of the last one before it restarts the world: what that takes is
// in the trace alone, and no disagreement.
func (d *disagreement) judge(c *gc.Collection, runtime, restarting time.Duration) {
	most := time.Duration(0)
	for i := range c.Pauses {
		most += c.Pauses[i].EndMax.Sub(c.Pauses[i].Start)
	}
	switch {
	case apart(runtime-most, runtime):
		d.missing++
	case apart(c.PauseTotal()-restarting-runtime, runtime):
		d.delayed++
	}
}

func apart(d, runtime time.Duration) bool {
	return d > disagreeTime && float64(d) > disagreeShare*float64(runtime)
}

func (d disagreement) count() uint64 { return d.missing + d.delayed }

func (d *disagreement) add(other disagreement) {
	d.missing += other.missing
	d.delayed += other.delayed
}

// String says it in one sentence, empty if there is none.
func (d disagreement) String() string {
	var parts []string
	if d.missing > 0 {
		parts = append(parts, "of "+collections(d.missing)+" are longer by the runtime's own figures than in the execution trace: a stop is missing from it, or was taken for another collection's")
	}
	if d.delayed > 0 {
		parts = append(parts, "of "+collections(d.delayed)+" are longer in the execution trace than by the runtime's own figures: who stopped the world was held up between the stamp of the one and that of the other")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("the pauses %s (by more than %.0f %% and %v)", strings.Join(parts, "; "), 100*disagreeShare, disagreeTime)
}

func collections(n uint64) string {
	if n == 1 {
		return "1 collection"
	}
	return fmt.Sprintf("%d collections", n)
}
