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
	// throttleKept is for how long throttled time waits for its interval: the
	// cgroup counts when a throttling ends, and a thread may run a little later.
	throttleKept = 2 * restEvery
)

// throttle is the time that a cgroup was throttled and no interval has claimed.
type throttle struct {
	left time.Duration
	age  time.Duration
}

// add takes in what the cgroup was throttled since the last batch, which was
// that long ago.
func (t *throttle) add(d, since time.Duration) {
	switch {
	case d > 0:
		t.left, t.age = t.left+d, 0
	case t.left > 0:
		if t.age += since; t.age >= throttleKept {
			t.left = 0
		}
	}
}

// claim gives host.throttled to each interval that the throttled time covers,
// the longest first.
func (t *throttle) claim(intervals []stall.Interval) {
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
		if d := v.Duration(); float64(t.left) >= throttleShare*float64(d) {
			t.left -= min(t.left, d)
			v.Cause = stall.HostThrottled
		}
	}
}
