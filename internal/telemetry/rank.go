package telemetry

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// heldHeap has the event that goes first when there are too many at its root.
// It implements heap.Interface.
type heldHeap []held

func (h heldHeap) Len() int      { return len(h) }
func (h heldHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heldHeap) Push(x any)   { *h = append(*h, x.(held)) }

func (h heldHeap) Less(i, j int) bool {
	if h[i].class != h[j].class {
		return h[i].class < h[j].class
	}
	return h[i].rank < h[j].rank
}

func (h *heldHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = held{}
	*h = old[:len(old)-1]
	return last
}

// withhold counts an event of d that was not even held.
func (r *ration) withhold(s stall.Origin, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(s, d, nil)
}

// state returns the earliest start of what is held of s, zero for nothing, and
// what of s was lost.
func (r *ration) state(s stall.Origin) (earliest stall.Instant, loss Loss) {
	if s >= stall.NumOrigins {
		return 0, Loss{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	see := func(h *held) {
		if h.source() == s && h.v.Start != 0 && (earliest == 0 || h.v.Start < earliest) {
			earliest = h.v.Start
		}
	}
	for i := range r.queue {
		see(&r.queue[i])
	}
	if l := &r.longest[s]; l.set {
		see(&l.held)
	}
	return earliest, r.losses[s]
}
