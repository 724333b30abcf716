package otelgc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestStopsOfBothFidelities: what cycle fidelity knows of a stop, within its
// slack, says nothing of time that the exact source watched, even if the stop's
// middle lies where it did not watch, or where no window of the batch is.
func TestStopsOfBothFidelities(t *testing.T) {
	known := stall.Interval{Start: 1100, End: 1200, Cause: stall.GCPause, Origin: stall.GoTrace}
	roughly := func(start, end stall.Instant) stall.Interval {
		return stall.Interval{Start: start, End: end, Slack: 500, Cause: stall.GCPause, Origin: stall.GCWatch}
	}
	before, inside, after := roughly(600, 900), roughly(2100, 2200), roughly(4100, 4200)
	e := evidence{
		process: []stall.Interval{before, known, inside, after}, longest: 1300,
		seen: []stall.Span{{Start: 1000, End: 2000}, {Start: 3000, End: 4000}},
	}
	for name, test := range map[string]struct {
		window stall.Span
		want   []stall.Interval // besides known, which may be there or not
	}{
		"watched":             {stall.Span{Start: 1000, End: 2000}, nil},
		"watched, later":      {stall.Span{Start: 3000, End: 4000}, nil},
		"not watched":         {stall.Span{Start: 2000, End: 3000}, []stall.Interval{inside}},
		"watched at both":     {stall.Span{Start: 1100, End: 3900}, []stall.Interval{inside}},
		"watched at the edge": {stall.Span{Start: 3500, End: 4500}, []stall.Interval{after}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []stall.Interval
			for _, v := range e.stopsIn(test.window) {
				if v.Origin == stall.GCWatch {
					got = append(got, v)
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("stops (-want +got):\n%s", d)
			}
		})
	}
}

// TestParkedAcrossGenerations: a goroutine that was parked when a generation
// ended right after a stop did not wake there, and the stop delayed nothing.
func TestParkedAcrossGenerations(t *testing.T) {
	parked := func(start, end stall.Instant) gotrace.TrackSpan {
		return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateParked}, Reason: "sleep"}
	}
	b := newTraceStore(second, stall.Clock{})
	b.learn(&gotrace.Generation{
		Span:   stall.Span{Start: second, End: 2 * second},
		Marks:  []gotrace.Mark{mark0(second+100, 7, gotrace.WindowBegin, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7, running(second, second+1000), parked(second+1000, 2*second))},
	}, nil)
	b.learn(&gotrace.Generation{
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
