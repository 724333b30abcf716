package gcwatch

import (
	"runtime/metrics"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// noGoal is more than any heap: with GOGC=off and no memory limit the
	// runtime says what would be left of a limit of 1<<63 - 1.
	noGoal gc.Bytes = 1 << 62
	// periodicAfter is how long after a cycle the runtime begins one that
	// nobody asked for (runtime/proc.go, forcegcperiod).
	periodicAfter = 2 * time.Minute
)

// heapLeft is the heap as a cycle left it, and what had been allocated by then.
type heapLeft struct {
	heap, allocated gc.Bytes
	end             stall.Instant // of the cycle, zero if it ended before the watcher began
}

// sampleObjects is what a watcher takes for the heap that the cycle before it
// left: it also holds what is dead and not swept yet.
const sampleObjects = "/memory/classes/heap/objects:bytes"

// objectsNow returns how large the heap is at most.
func objectsNow() gc.Bytes {
	s := []metrics.Sample{{Name: sampleObjects}}
	if metrics.Read(s); s[0].Value.Kind() != metrics.KindUint64 {
		return noGoal
	}
	return gc.Bytes(s[0].Value.Uint64())
}

// heapBefore estimates the heap when the newest cycle began. A cycle that an
// allocation began did so near its goal. A forced one, and one that began
// because there was none for so long, began anywhere below it: the heap then was
// what the cycle before had left, and what was allocated since.
func (w *Watcher) heapBefore(t gc.Trigger) gc.Bytes {
	goal, grown := w.prev.goal, w.left.heap+w.cur.allocBytes-w.left.allocated
	if t != gc.TriggerForced && goal < noGoal && w.lastEnd.Sub(w.left.end) < periodicAfter {
		return goal
	}
	return min(goal, grown)
}
