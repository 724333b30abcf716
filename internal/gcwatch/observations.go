package gcwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Observations are what metrics need beside a batch: what the runtime counts
// without saying of which collection it is.
type Observations struct {
	// Kind is that of every cycle of this process, see [KindOf].
	Kind gc.Kind
	// Cycles is the number of cycles that ended since the previous batch; zero for
	// a poll.
	Cycles uint64
	// Differences of the runtime's histograms since the previous batch: the stops
	// that ended, and the time it took to stop the threads for those that began.
	// The stops of a cycle in progress are among them.
	GCPauses, OtherPauses []Bucket
	GCStopping            []Bucket
	Totals                Totals
}

func (w *Watcher) reset() {
	b, o := &w.batch, &w.seen
	b.Collections, b.Intervals, b.Unseen, b.Lost.Count = b.Collections[:0], b.Intervals[:0], b.Unseen[:0], 0
	o.GCPauses, o.OtherPauses, o.GCStopping = o.GCPauses[:0], o.OtherPauses[:0], o.GCStopping[:0]
}

// unseen names s, unless it is empty.
func (w *Watcher) unseen(s stall.Span) {
	if !s.Empty() {
		w.batch.Unseen = append(w.batch.Unseen, s)
	}
}

// Totals are the runtime's own figures since the process began, as of one
// reading. Two of them subtract to the figures of a run.
type Totals struct {
	Cycles, Automatic, Forced uint64
	// PauseTotal is the sum of the pauses of all Cycles.
	PauseTotal     time.Duration
	AllocatedBytes gc.Bytes
	CPU            CPUTotals
	// Missed is the number of cycles, since the watcher began, of which
	// only the count is known.
	Missed uint64
}

// CPUTotals are CPU times by the classes of runtime/metrics. The runtime
// brings them up to date at the end of a cycle (GCPause at each pause).
type CPUTotals struct {
	GCAssist, GCDedicated, GCIdle, GCPause, GC time.Duration // GC is the sum of the four
	User, Idle                                 time.Duration
	ScavengeAssist, ScavengeBackground         time.Duration
}

// since returns the collector's part of what was used from old to c.
func (c *CPUTotals) since(old *CPUTotals) gc.CPU {
	return gc.CPU{
		Assist:    gc.Known(c.GCAssist - old.GCAssist),
		Dedicated: gc.Known(c.GCDedicated - old.GCDedicated),
		Idle:      gc.Known(c.GCIdle - old.GCIdle),
		Pause:     gc.Known(c.GCPause - old.GCPause),
		Total:     gc.Known(c.GC - old.GC),
	}
}

// totals fills in the absolute figures. The runtime's 32-bit counts of
// cycles wrap; these do not.
func (w *Watcher) totals() {
	now := w.cur
	forced := uint64(now.forced - w.prev.forced)
	w.automatic += w.seen.Cycles - forced
	w.seen.Totals = Totals{
		Cycles: w.index, Automatic: w.automatic, Forced: w.index - w.automatic,
		PauseTotal: now.pauseTotal, AllocatedBytes: now.allocBytes, CPU: now.cpu,
		Missed: w.missed,
	}
}

// differences fills what happened between the two readings.
func (w *Watcher) differences() {
	o, now, old, edges := &w.seen, w.cur, w.prev, w.ledger.edges
	o.GCPauses = now.gcTotal.since(&old.gcTotal, edges, o.GCPauses)
	o.GCStopping = now.gcStopping.since(&old.gcStopping, edges, o.GCStopping)
	o.OtherPauses = now.otherTotal.since(&old.otherTotal, edges, o.OtherPauses)

	span := stall.Span{Start: w.otherFrom, End: now.end}
	w.batch.Intervals, w.batch.Lost.Count = suspensions(o.OtherPauses, span, w.batch.Intervals)
	if w.batch.Lost.Count > 0 {
		w.unseen(span)
	}
	if now.otherSettled {
		w.otherFrom = now.begin
	}
}
