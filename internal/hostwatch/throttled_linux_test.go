package hostwatch

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestThrottlingUnseen: where nobody can say whether the cgroup was throttled, what
// is as long as a throttling may be one.
func TestThrottlingUnseen(t *testing.T) {
	w := &Watch{process: &hostcount.Process{}}
	w.verdict.denied = []stall.Span{span(0, 50), span(1000, 3000)}
	for _, test := range []struct {
		throttled gc.Maybe[time.Duration]
		want      stall.Cause // of the second one
	}{
		{gc.Maybe[time.Duration]{}, stall.HostUnknown},
		{gc.Known(time.Duration(0)), stall.HostPreempted},
	} {
		w.last.Throttled = test.throttled
		got := w.intervals(hostcount.Counts{Throttled: test.throttled}, span(0, 100_000))
		if got[0].Cause != stall.HostPreempted || got[1].Cause != test.want {
			t.Errorf("throttled %v: got %v and %v, want host.preempted and %v", test.throttled, got[0].Cause, got[1].Cause, test.want)
		}
	}
}
