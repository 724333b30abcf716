package hostwatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// throttleFrom is the shortest interval that is asked about throttling: a
	// quota takes the CPU away for the rest of a period, milliseconds.
	throttleFrom = time.Millisecond
	// throttleShare is the part of an interval that the cgroup must account
	// for: the greater one. On a busy machine a thread waits for others before
	// it is throttled and after.
	throttleShare = 0.5
	// throttleKept is for how long throttled time counts after it was counted
	// last, and the most that a while can hold of it: longer than a period.
	throttleKept = 2 * restEvery
)

// throttle is the time that a cgroup was throttled and no interval has claimed.
// The kernel counts it when a throttling is over, and sums it over CPUs, so that it
// may be many times the time that passed: it says that there was throttling, and
// the number of throttlings how many intervals can have ended by it.
type throttle struct {
	left  time.Duration
	begun uint64        // throttlings that are not over
	ended uint64        // throttlings that were over in this batch
	since time.Duration // when the last one was over
}

// add takes in what was counted since the last batch, which was that long ago.
func (t *throttle) add(d time.Duration, begun uint64, since time.Duration) {
	t.since += since
	t.begun += begun
	t.ended = 0
	switch {
	case d > 0:
		t.left = min(t.left+d, t.since, throttleKept)
		t.ended = max(1, t.begun)
		t.begun, t.since = 0, 0
	case t.since >= throttleKept:
		t.left = 0
	}
}

// claim gives host.throttled to each interval that the throttled time covers, the
// longest first. By a throttling that is over at most one of them ended; one that
// goes on at the end of the batch may be by a throttling that is still to be
// counted, like the last.
func (t *throttle) claim(intervals []stall.Interval, end stall.Instant) {
	if t.left == 0 {
		return
	}
	order := make([]*stall.Interval, 0, len(intervals))
	for i := range intervals {
		if v := &intervals[i]; v.Duration() >= throttleFrom {
			order = append(order, v)
		}
	}
	slices.SortFunc(order, func(a, b *stall.Interval) int { return cmp.Compare(b.Duration(), a.Duration()) })
	for _, v := range order {
		d, open := v.Duration(), v.End == end
		if !open && t.ended == 0 || float64(t.left) < throttleShare*float64(d) {
			continue
		}
		t.left -= min(t.left, d)
		v.Cause = stall.HostThrottled
		if !open {
			t.ended--
		}
	}
}

// mayBeThrottled gives host.unknown to each interval that a quota may have made,
// where it is not known whether it did.
func mayBeThrottled(intervals []stall.Interval) {
	for i := range intervals {
		if v := &intervals[i]; v.Duration() >= throttleFrom {
			v.Cause = stall.HostUnknown
		}
	}
}
