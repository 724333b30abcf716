package hostwatch

import (
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// ErrTarget says that the process to watch is not there, or that it has ended.
var ErrTarget = hostcount.ErrProcess

const (
	// threshold is the shortest wait of a thread for a CPU that counts. Shorter
	// ones count in Totals.RunDelay only.
	threshold = 10 * time.Microsecond
	// maxThreads bounds the threads that are followed. With more of them nothing
	// is covered.
	maxThreads = 4096
	// batchEvery is the time between two batches of a process that switches
	// often, restEvery of any other.
	batchEvery = 100 * time.Millisecond
	restEvery  = 250 * time.Millisecond
	// manyEvents of a batch are as many as one must not wait longer for: the ring
	// has room for thirty times as many.
	manyEvents = 1 << 10
	// holdBack is how old an event is before it is taken in: CPUs put theirs
	// into the ring a little out of order.
	holdBack = time.Millisecond
	// maxPieces bounds the denied and the paged intervals of a batch, and the
	// covered spans. With more of them, or of both kinds of intervals together,
	// the longest of each kind stay, and nothing is covered.
	maxPieces = 512
)

// Options configure a Watch. PID and Clock must be set.
type Options struct {
	PID   int
	Clock stall.Clock // of the intervals
	// CountersOnly leaves the scheduler alone even where it may be followed.
	CountersOnly bool
}

// Observations are what the machine did to the process in the time of a batch.
type Observations struct {
	// Span is that stretch. It begins where the last one ended.
	Span stall.Span
	// Denied holds the intervals in which a thread was ready and none ran,
	// host.preempted, host.throttled, or host.unknown where it may be either for
	// all that can be seen of the cgroup, and those in which one waited for a page
	// and none ran or was ready, host.fault. They are of scope target and sorted.
	Denied []stall.Interval
	// Covered holds the parts of Span of which is known whether the machine
	// held the process up, sorted: all else in them than Denied is the
	// program's own.
	Covered []stall.Span
	// Totals are as of the end of Span.
	Totals hostcount.Totals
}
