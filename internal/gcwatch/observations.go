package gcwatch

import (
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
