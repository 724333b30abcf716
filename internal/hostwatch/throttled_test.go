package hostwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestThrottleClaims gives batches of 100 ms what was throttled in them, and wants
// the numbers of the intervals that are by it.
func TestThrottleClaims(t *testing.T) {
	type batch struct {
		throttled time.Duration // over all CPUs
		begun     uint64
		denied    []stall.Span // in milliseconds
		want      []int
	}
	const ms = time.Millisecond
	for name, batches := range map[string][]batch{
		"nothing counted": {{denied: []stall.Span{{Start: 0, End: 50}}}},
		"the longest": {
			{throttled: 49 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 3}, {Start: 10, End: 60}, {Start: 70, End: 71}}, want: []int{1}},
		},
		"on eight CPUs, once": {
			{throttled: 8 * 50 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 50}, {Start: 60, End: 80}}, want: []int{0}},
			{denied: []stall.Span{{Start: 0, End: 30}, {Start: 40, End: 60}, {Start: 80, End: 90}}},
		},
		"each period, and a neighbour": {
			{throttled: 8 * 50 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 50}, {Start: 60, End: 80}}, want: []int{0}},
			{throttled: 8 * 50 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 50}, {Start: 60, End: 80}}, want: []int{0}},
		},
		"over the end of a batch": {
			{throttled: 95 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 45}, {Start: 50, End: 100}}, want: []int{0, 1}},
			{throttled: 95 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 45}, {Start: 50, End: 100}}, want: []int{0, 1}},
		},
		"a period of several batches": {
			{}, {},
			{throttled: 200 * ms, begun: 1, denied: []stall.Span{{Start: 0, End: 20}, {Start: 40, End: 100}}, want: []int{0, 1}},
			{denied: []stall.Span{{Start: 0, End: 100}}, want: []int{0}},
			{begun: 1, throttled: 200 * ms, denied: []stall.Span{{Start: 0, End: 20}, {Start: 40, End: 50}}, want: []int{0}},
		},
		"too long ago": {
			{throttled: 95 * ms, begun: 1},
			{}, {}, {}, {}, {},
			{denied: []stall.Span{{Start: 50, End: 100}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var th throttle
			for i, b := range batches {
				var list []stall.Interval
				for _, s := range b.denied {
					list = append(list, stall.Interval{Start: s.Start * stall.Instant(ms), End: s.End * stall.Instant(ms), Cause: stall.HostPreempted})
				}
				th.add(b.throttled, b.begun, batchEvery)
				th.claim(list, stall.Instant(batchEvery))
				var got []int
				for k := range list {
					if list[k].Cause == stall.HostThrottled {
						got = append(got, k)
					}
				}
				if diff := cmp.Diff(b.want, got); diff != "" {
					t.Errorf("batch %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestThrottleStaysBounded: what nobody claims does not add up.
func TestThrottleStaysBounded(t *testing.T) {
	var th throttle
	for range 100 {
		th.add(8*50*time.Millisecond, 1, batchEvery)
	}
	if th.left > batchEvery {
		t.Errorf("%v of throttling are left of %v", th.left, batchEvery)
	}
}
