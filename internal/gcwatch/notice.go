package gcwatch

import (
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Notice is what became known since the previous notice. The watcher uses it
// again: whoever wants to keep a part copies it.
type Notice struct {
	// Watermark is how far the watcher has seen: everything that began before
	// it is in this or an earlier notice, but for what Unseen names.
	Watermark stall.Instant
	// Kind is that of every cycle of this process, see [KindOf].
	Kind gc.Kind
	// Cycles is the number of cycles that ended since the previous notice;
	// zero for a poll.
	Cycles uint64
	// Collections has one record per cycle, oldest first. What the runtime
	// keeps of the newest cycle only is in the last one. If more cycles ended
	// than the runtime's ring holds, the first record stands for the
	// overflow: it has their number in Cycles, the index of the last of
	// them, and no pauses.
	Collections []gc.Collection
	// Differences of the runtime's histograms since the previous notice: the
	// stops that ended, and the time it took to stop the threads for those
	// that began. The stops of a cycle in progress are among them.
	GCPauses, OtherPauses []Bucket
	GCStopping            []Bucket
	// Suspensions holds the stops of OtherPauses, each with a slack that
	// covers all the time in which it may lie.
	Suspensions        []stall.Interval
	SuspensionsDropped uint64 // stops beyond the limit of 64 per notice
	// Unseen names the spans in which a stop may lie that is in no notice, or
	// in a later one.
	Unseen []stall.Span
	Totals Totals
}

func (n *Notice) reset() {
	n.Collections, n.Suspensions, n.Unseen = n.Collections[:0], n.Suspensions[:0], n.Unseen[:0]
	n.GCPauses, n.OtherPauses = n.GCPauses[:0], n.OtherPauses[:0]
	n.GCStopping = n.GCStopping[:0]
	n.SuspensionsDropped = 0
}

// unseen names s, unless it is empty.
func (n *Notice) unseen(s stall.Span) {
	if !s.Empty() {
		n.Unseen = append(n.Unseen, s)
	}
}
