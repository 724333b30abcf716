package gcwatch

import (
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// look takes a reading, and makes a batch and observations of what is new in it.
func (w *Watcher) look() {
	w.prev, w.cur = w.cur, w.prev
	w.reader.read(w.cur)
	now, old := w.cur, w.prev
	w.reset()
	w.seen.Kind = w.kind
	w.seen.Cycles = uint64(now.cycles - old.cycles)

	v := w.ledger.update(now, old)
	ended := w.collect(v)
	w.advance(v, ended)
	w.batch.Watermark = w.mark.at
	if v == balanced {
		w.ledger.rebase(now, true)
	}

	if w.seen.Cycles > 0 {
		w.left = heapLeft{now.live, now.allocBytes, w.lastEnd}
	}
	w.differences()
	w.totals()
}

// collect makes the records of the cycles that ended since the last reading.
// It returns the earliest at which the newest of them can have ended, zero if
// there was none.
func (w *Watcher) collect(v balance) (ended stall.Instant) {
	k := w.seen.Cycles
	if k == 0 {
		return 0
	}
	trigger := w.trigger(k)
	kept := min(k, uint64(max(0, len(w.reader.stats.Pause)-w.reader.later)))
	w.overflow(k-kept, trigger)
	// The records' pauses are parts of one slice, which must not move.
	w.pauses = slices.Grow(w.pauses[:0], 2*int(kept))
	for age := int(kept) - 1; age >= 0; age-- {
		ended = w.record(age, trigger, v == balanced && k == 1)
	}
	if kept > 0 {
		w.newest(v, k)
	}
	return ended
}

// overflow makes one record of the n cycles that the runtime's ring had lost.
func (w *Watcher) overflow(n uint64, trigger gc.Trigger) {
	if n == 0 {
		return
	}
	w.index += n
	w.missed += n
	w.batch.Collections = append(w.batch.Collections, gc.Collection{
		Index: w.index, Cycles: int(n), Kind: w.kind, Trigger: trigger,
		Origin: stall.GCWatch, Fidelity: stall.Cycle,
	})
	// They ended before the oldest cycle that the ring has, if it has one.
	end := w.cur.end
	if p := w.reader.stats.PauseEnd; len(p) > 0 {
		end, _ = w.reader.wall.instant(p[len(p)-1].UnixNano(), stall.Span{Start: w.lastEnd, End: end})
	}
	w.unseen(stall.Span{Start: w.mark.at, End: end})
}

// record makes the record of one cycle, age cycles before the newest. alone
// says that it is the only one and all stops are accounted for.
func (w *Watcher) record(age int, trigger gc.Trigger, alone bool) (ended stall.Instant) {
	i := w.reader.later + age
	from := max(w.prev.begin, w.lastEnd)
	end, slack := w.reader.wall.instant(w.reader.stats.PauseEnd[i].UnixNano(), stall.Span{Start: from, End: w.cur.end})
	c := cycleEnd{sum: w.reader.stats.Pause[i], end: end, slack: slack, after: w.lastEnd, before: w.cur.end}
	if w.ledger.sound && uint32(age) == w.ledger.cycles-1 {
		c.after = max(c.after, w.ledger.base.begin)
	}
	mine := len(w.pauses)
	ok := false
	if alone {
		ok = w.split(&c)
	}
	if !ok {
		w.pauses = c.whole(w.pauses)
	}
	w.index++
	for _, p := range w.pauses[mine:] {
		w.batch.Intervals = append(w.batch.Intervals, stall.Interval{
			Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Origin: stall.GCWatch, CPU: -1, Ref: w.index,
		})
	}
	w.batch.Collections = append(w.batch.Collections, gc.Collection{
		Index: w.index, Cycles: 1, Kind: w.kind, Trigger: trigger,
		End:       gc.Known(end),
		Pauses:    w.pauses[mine:len(w.pauses):len(w.pauses)],
		Estimated: gc.FieldPauses,
		Origin:    stall.GCWatch, Fidelity: stall.Cycle,
	})
	ended = end.Add(-slack)
	w.lastEnd = max(w.lastEnd, ended)
	return ended
}

// split appends the two pauses of the only cycle since the ledger's base.
func (w *Watcher) split(c *cycleEnd) (ok bool) {
	a, b, ok := w.ledger.two(w.cur)
	if !ok {
		return false
	}
	var first *stall.Span
	if f := &w.ledger.first; f.known && (f.edge == a || f.edge == b) {
		if f.edge == b {
			a, b = b, a
		}
		first = &f.span
	}
	w.pauses, ok = c.split(w.ledger.edges[a], w.ledger.edges[b], first, w.pauses)
	return ok
}

// trigger returns why k cycles began, if all began for the same reason.
func (w *Watcher) trigger(k uint64) gc.Trigger {
	switch forced := uint64(w.cur.forced - w.prev.forced); forced {
	case 0:
		return gc.TriggerAutomatic
	case k:
		return gc.TriggerForced
	}
	return gc.TriggerUnknown
}

// newest adds what the runtime keeps of the newest cycle only. It is left out
// where the reading mixes it with another cycle's.
func (w *Watcher) newest(v balance, k uint64) {
	c := &w.batch.Collections[len(w.batch.Collections)-1]
	if w.startKnown {
		if lived := c.End.Or(0).Sub(w.started); lived > 0 {
			c.PauseUtilization = gc.Known(min(1, float64(w.cur.pauseTotal)/float64(lived)))
		}
	}
	if !w.cur.coherent {
		return
	}
	c.Promoted = gc.Known(w.cur.live)
	if k != 1 || !w.prev.coherent {
		return // what was in force when the newest began was not read
	}
	if w.prev.goal < noGoal {
		c.Goal = gc.Known(w.prev.goal)
	}
	c.HeapBefore = gc.Known(w.heapBefore(c.Trigger))
	c.Estimated |= gc.FieldHeapBefore
	c.CPU = w.cur.cpu.since(&w.prev.cpu)
	// Assist, dedicated and idle time are counted when a cycle ends, pauses
	// when they are over: the first one may have been in an earlier batch, or
	// be the next cycle's.
	if v == balanced && w.ledger.sound && w.ledger.cycles == 1 {
		c.CPU = w.cur.cpu.since(&w.ledger.base.cpu)
	} else {
		c.CPU.Pause, c.CPU.Total = gc.Maybe[time.Duration]{}, gc.Maybe[time.Duration]{}
	}
}

const (
	// noGoal is more than any heap: with GOGC=off and no memory limit the
	// runtime says what would be left of a limit of 1<<63 - 1.
	noGoal gc.Bytes = 1 << 62
	// periodicAfter is how long after a cycle the runtime begins one by
	// itself (runtime/proc.go, forcegcperiod).
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

// KindOf returns the kind of every cycle of a process that was started with
// the environment variable GODEBUG set to godebug. The runtime reads
// gcstoptheworld once, when the process starts.
func KindOf(godebug string) gc.Kind {
	kind := gc.Background
	for field := range strings.SplitSeq(godebug, ",") {
		if v, ok := strings.CutPrefix(field, "gcstoptheworld="); ok {
			switch v {
			case "1", "2":
				kind = gc.FullBlocking
			default:
				kind = gc.Background
			}
		}
	}
	return kind
}
