package exact

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestTooManyMade: of who stopped the world more often than can be kept nothing
// is known, rather than that it ran all the while; others are followed.
func TestTooManyMade(t *testing.T) {
	b := newStore(1)
	g := &gotrace.Generation{
		Span:  stall.Span{Start: second, End: 2 * second},
		Marks: []gotrace.Mark{mark0(second+1, 7, gotrace.WindowBegin, 3), mark0(second+2, 8, gotrace.WindowBegin, 4)},
		Tracks: []gotrace.Track{
			gotrace.NewTrack(7, running(second, 2*second)), gotrace.NewTrack(8, running(second, 2*second)),
		},
		Stops: []gotrace.Stop{{Span: stall.Span{Start: second + 10, End: second + 20}, Goroutine: 8}},
	}
	for i := range stall.Instant(10_000) {
		at := second + 100 + 10*i
		g.Stops = append(g.Stops, gotrace.Stop{Span: stall.Span{Start: at, End: at + 5}, Goroutine: 7})
	}
	if _, lost := b.Learn(g, nil); lost != 1 {
		t.Errorf("%d goroutines made too many, want 1", lost)
	}
	w := stall.Window{Start: second + 5, End: 2*second - 5}
	if e := followed(b, w, 3, w.Start); len(e.Track) != 0 {
		t.Errorf("who made too many ran: %v", e.Track)
	}
	if e := followed(b, w, 4, w.Start); len(e.Track) != 1 || len(e.Own) != 1 || e.Own[0].Cause != stall.RuntimeSuspension {
		t.Errorf("another ran %v and was stopped by %v, want one of each", e.Track, e.Own)
	}
}
