package exact

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestParkedAcrossGenerations: a goroutine that was parked when a generation
// ended right after a stop did not wake there, and the stop delayed nothing.
func TestParkedAcrossGenerations(t *testing.T) {
	parked := func(start, end stall.Instant) gotrace.TrackSpan {
		return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateParked}, Reason: "sleep"}
	}
	b := newStore(second)
	b.Learn(&gotrace.Generation{
		Span:   stall.Span{Start: second, End: 2 * second},
		Marks:  []gotrace.Mark{mark0(second+100, 7, gotrace.WindowBegin, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7, running(second, second+1000), parked(second+1000, 2*second))},
	}, nil)
	b.Learn(&gotrace.Generation{
		Span:   stall.Span{Start: 2 * second, End: 3 * second},
		Marks:  []gotrace.Mark{mark0(3*second-100, 7, gotrace.WindowEnd, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7, parked(2*second, 3*second-1000), running(3*second-1000, 3*second))},
	}, nil)
	w := stall.Window{Start: second, End: 3 * second}
	e := followed(b, w, 3, w.Start)
	e.Seen = []stall.Span{{Start: second, End: 3 * second}}
	const length = 10_000
	e.Process = []stall.Interval{{Start: 2*second - 2*length, End: 2*second - length, Cause: stall.GCPause, Origin: stall.GoTrace}}
	var s stall.Share
	new(stall.Joiner).Join(&w, &e, &s)
	if s.Uncertain != 0 || s.Overlapped[stall.GCPause] != length {
		t.Errorf("uncertain %v, overlapped by pauses %v, want 0s and 10µs: %s", s.Uncertain, s.Overlapped[stall.GCPause], s.Explain())
	}
}
