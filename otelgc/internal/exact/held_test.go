package exact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestParkedByTheRuntime: who ran and was parked by the runtime did not wait by
// its own doing, whether the trace says for whom or not.
func TestParkedByTheRuntime(t *testing.T) {
	preempted := func(start, end stall.Instant, forGC bool) gotrace.TrackSpan {
		return gotrace.TrackSpan{
			StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateParked},
			Reason:    "preempted", GCWait: forGC, Held: !forGC,
		}
	}
	b := newStore(second)
	b.Learn(&gotrace.Generation{
		Span:  stall.Span{Start: second, End: 2 * second},
		Marks: []gotrace.Mark{mark0(second, 7, gotrace.WindowBegin, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7,
			running(second, second+1000), preempted(second+1000, second+3000, true),
			running(second+3000, second+4000), preempted(second+4000, second+4500, false),
			running(second+4500, 2*second))},
	}, nil)
	w := stall.Window{Start: second, End: second + 10_000}
	e := followed(b, w, 3, w.Start)
	e.Seen = b.timeline.Exact.Seen(nil, stall.Span{End: 3 * second})
	e.Process = []stall.Interval{{Start: second + 2000, End: second + 2500, Cause: stall.GCPause, Origin: stall.GoTrace}}
	var s stall.Share
	new(stall.Joiner).Join(&w, &e, &s)
	want := stall.Share{Total: 10_000, AppOrHost: 7500, Covered: 10_000, Pauses: 1, Fidelity: stall.Exact}
	want.Charged[stall.GCWait] = 2000
	want.Charged[stall.RuntimeUnknown] = 500
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("share (-want +got):\n%s", diff)
	}
}
