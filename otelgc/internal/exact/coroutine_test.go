package exact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestCoroutinesStandIn: what a coroutine did for the collector, and the stops
// that it made, while it stood in for the window's goroutine are the window's;
// what it did for another is not.
func TestCoroutinesStandIn(t *testing.T) {
	b := newStore(second)
	at := func(us stall.Instant) stall.Instant { return second + 1000*us }
	b.Learn(&gotrace.Generation{
		Span:   stall.Span{Start: second, End: 2 * second},
		Marks:  []gotrace.Mark{mark0(second, 7, gotrace.WindowBegin, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7, running(second, 2*second)), gotrace.NewTrack(8, running(second, 2*second))},
		Turns: []gotrace.Turn{
			{Span: stall.Span{Start: at(10), End: at(20)}, Coroutine: 9, For: 7},
			{Span: stall.Span{Start: at(20), End: at(30)}, Coroutine: 9, For: 8},
		},
		Ranges: []gotrace.Range{
			{Span: stall.Span{Start: at(11), End: at(13)}, Goroutine: 9},
			{Span: stall.Span{Start: at(21), End: at(23)}, Goroutine: 9},
			{Span: stall.Span{Start: at(41), End: at(42)}, Goroutine: 7, Kind: gotrace.Sweep},
		},
		Stops: []gotrace.Stop{
			{Span: stall.Span{Start: at(15), End: at(16)}, Goroutine: 9, GC: true},
			{Span: stall.Span{Start: at(25), End: at(26)}, Goroutine: 9, GC: true},
		},
	}, nil)
	w := stall.Window{Start: second, End: at(50)}
	want := []stall.Interval{
		own(at(11), at(13), stall.GCAssist), own(at(15), at(16), stall.GCPause), own(at(41), at(42), stall.GCSweep),
	}
	if diff := cmp.Diff(want, followed(b, w, 3, w.Start).Own); diff != "" {
		t.Errorf("own (-want +got):\n%s", diff)
	}
}
