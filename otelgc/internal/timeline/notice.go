package timeline

import (
	"math"
	"slices"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// notice is what the collections of one batch have in common: the buckets of their
// pauses. Each pause is a sample of the histogram once. An exact record brings its own
// samples, so its pauses are taken out of the buckets, and what is left when the last
// one is settled is of those in fidelity cycle.
type notice struct {
	left    int // collections that are not settled
	cycle   int // settled in fidelity cycle
	buckets []gcwatch.Bucket
}

// settle takes one collection of the notice. It returns the samples that are left,
// with the last one.
func (n *notice) settle(c *gc.Collection) []gcwatch.Bucket {
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

// takeOut removes the pause that is nearest: the exact figure is a little longer than
// the runtime's.
func (n *notice) takeOut(seconds float64) {
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
