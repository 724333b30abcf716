package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

func running(start, end stall.Instant) gotrace.TrackSpan {
	return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateRunning}}
}

// TestGenerationIsBounded: one goroutine that only yields does not crowd out the
// others, and what is not kept is counted.
func TestGenerationIsBounded(t *testing.T) {
	const usual = 600 // ns, which take three bytes
	many := func(n int) (spans []gotrace.TrackSpan) {
		for i := range stall.Instant(n) {
			spans = append(spans, running(second+i*usual, second+(i+1)*usual))
		}
		return spans
	}
	var c Generation
	g := &gotrace.Generation{Span: stall.Span{Start: second, End: 2 * second}}
	g.Tracks = []gotrace.Track{gotrace.NewTrack(1, many(maxTrack+1)...), gotrace.NewTrack(2, many(10)...)}
	for id := range uint64(6) {
		g.Tracks = append(g.Tracks, gotrace.NewTrack(3+id, many(maxTrack)...))
	}
	lost := c.Learn(g, func() {})
	if want := uint64(1 + 6 - maxStates/maxTrack/usualState); lost != want {
		t.Errorf("lost %d tracks, want %d", lost, want)
	}
	if n := len(c.states.bytes); n > maxStates {
		t.Errorf("keeps %d bytes of states", n)
	}
	kept := func(goroutine uint64) (n int) {
		for w := c.Of(goroutine, g.Span); w.Next(); n++ {
		}
		return n
	}
	if got := kept(2); got != 10 {
		t.Errorf("%d spans of the quiet goroutine, want 10", got)
	}
	if got := kept(1); got != 0 {
		t.Errorf("%d spans of one that was not kept", got)
	}
}

// TestTooMuchOfOne: of whose assists or stops there are more than can be kept nothing is
// known, rather than a part. Others are followed.
func TestTooMuchOfOne(t *testing.T) {
	const busy, quiet = 7, 8
	for name, fill := range map[string]func(*gotrace.Generation, uint64, stall.Span){
		"assists": func(g *gotrace.Generation, id uint64, s stall.Span) {
			g.Ranges = append(g.Ranges, gotrace.Range{Span: s, Goroutine: id})
		},
		"stops": func(g *gotrace.Generation, id uint64, s stall.Span) {
			g.Stops = append(g.Stops, gotrace.Stop{Span: s, Goroutine: id})
		},
	} {
		g := &gotrace.Generation{
			Span:   stall.Span{Start: second, End: 2 * second},
			Tracks: []gotrace.Track{gotrace.NewTrack(busy, running(second, 2*second)), gotrace.NewTrack(quiet, running(second, 2*second))},
		}
		fill(g, quiet, stall.Span{Start: second + 1, End: second + 5})
		for i := range stall.Instant(maxAssists + 1) {
			fill(g, busy, stall.Span{Start: second + 10*i, End: second + 10*i + 5})
		}
		var c Generation
		if lost := c.Learn(g, func() {}); lost != 1 {
			t.Errorf("%s: of %d goroutines there was too much, want 1", name, lost)
		}
		if len(c.assists) > maxAssists || len(c.made) > maxMade {
			t.Errorf("%s: %d assists and %d stops are kept", name, len(c.assists), len(c.made))
		}
		var one, other stall.Evidence
		c.Follow(&one, busy, g.Span, stall.Span{})
		c.Follow(&other, quiet, g.Span, stall.Span{})
		if len(one.Track) != 0 || len(other.Track) != 1 || len(other.Own) != 1 {
			t.Errorf("%s: %d states of the busy one, want 0; %d states and %d intervals of the quiet one, want 1 of each", name, len(one.Track), len(other.Track), len(other.Own))
		}
	}
}

// TestAssistsOf: only those that may reach in; one that is over already, but is
// within one that is not, comes along for the join to leave out.
func TestAssistsOf(t *testing.T) {
	var c Generation
	g := &gotrace.Generation{Tracks: []gotrace.Track{{Goroutine: 7}, {Goroutine: 8}}}
	list := map[stall.Instant]stall.Interval{
		10: own(10, 100, stall.GCAssist), 20: own(20, 30, stall.GCSweep), 150: own(150, 160, stall.GCSweep), 200: own(200, 300, stall.GCAssist),
	}
	g.Ranges = []gotrace.Range{
		{Span: stall.Span{Start: 10, End: 100}, Goroutine: 7}, {Span: stall.Span{Start: 10, End: 500}, Goroutine: 8},
		{Span: stall.Span{Start: 20, End: 30}, Goroutine: 7, Kind: gotrace.Sweep},
		{Span: stall.Span{Start: 150, End: 160}, Goroutine: 7, Kind: gotrace.Sweep}, {Span: stall.Span{Start: 200, End: 300}, Goroutine: 7},
	}
	c.Learn(g, func() {})
	for _, want := range []struct {
		s      stall.Span
		starts []stall.Instant
	}{
		{stall.Span{Start: 0, End: 5}, nil},
		{stall.Span{Start: 50, End: 60}, []stall.Instant{10, 20}},
		{stall.Span{Start: 155, End: 250}, []stall.Instant{150, 200}},
		{stall.Span{Start: 300, End: 400}, nil},
	} {
		var got, wanted []stall.Interval
		for _, e := range c.assistsOf(7, want.s) {
			got = append(got, e.interval())
		}
		for _, at := range want.starts {
			wanted = append(wanted, list[at])
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", want.s, diff)
		}
	}
}
