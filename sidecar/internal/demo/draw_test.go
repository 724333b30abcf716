package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	queue  = stall.Part(stall.Queue)
	pause  = stall.Part(stall.GCPause)
	assist = stall.Part(stall.GCAssist)
)

func lastWords() message { return parting(&farewell{}) }

// TestDraw: a request is drawn from its arrival to its receipt. What it was queue while it
// was not sent, and lay there unread, is the load generator's; a stop on the way back is
// its own.
func TestDraw(t *testing.T) {
	w := stall.Window{Arrival: 100 * us, Start: 110 * us, End: 150 * us}
	s := stall.Share{Total: 50_000, AppOrHost: 30_000, Covered: 50_000, Pauses: 1, Collections: 1, LastCollection: 1, Fidelity: stall.Exact}
	s.Charged[stall.Queue], s.Charged[stall.GCPause] = 10_000, 10_000
	a := tell(t, []message{
		greeting(),
		resolved(&w, &s),
		collected(&gc.Collection{Index: 1, Cycles: 1, Start: gc.Known(115 * us), End: gc.Known(170 * us), Pauses: []gc.Pause{{Start: 120 * us, End: 130 * us}, {Start: 160 * us, End: 170 * us}}}),
		{Drawn: &drawn{Arrival: 100 * us, Pieces: []stall.Piece{
			{Start: 100 * us, End: 110 * us, Part: queue}, {Start: 110 * us, End: 120 * us, Part: stall.AppOrHost},
			{Start: 120 * us, End: 130 * us, Part: pause}, {Start: 130 * us, End: 150 * us, Part: stall.AppOrHost},
		}}},
		lastWords(),
	})
	answers := []load.Answer{{Arrival: 100 * us, Ready: 100 * us, Sent: 104 * us, Came: 180 * us, Receipt: 200 * us}}
	m, err := match(answers, a, new(followed))
	if err != nil {
		t.Fatal(err)
	}
	gap := stall.Interval{Start: 140 * us, End: 145 * us, Cause: stall.HostUnknown, Scope: stall.ScopeCPU}
	got := m.draw(0, "it", outsideGaps{gap, {Start: 300 * us, End: 301 * us}})
	want := &strip.Request{
		Name: "it",
		Pieces: []stall.Piece{
			{Start: 100 * us, End: 104 * us, Part: strip.Generator}, {Start: 104 * us, End: 110 * us, Part: queue},
			{Start: 110 * us, End: 120 * us, Part: stall.AppOrHost}, {Start: 120 * us, End: 130 * us, Part: pause},
			{Start: 130 * us, End: 150 * us, Part: stall.AppOrHost}, {Start: 150 * us, End: 160 * us, Part: queue},
			{Start: 160 * us, End: 170 * us, Part: pause}, {Start: 170 * us, End: 180 * us, Part: queue},
			{Start: 180 * us, End: 200 * us, Part: strip.Generator},
		},
		Collections: []strip.Collection{{Index: 1, Span: stall.Span{Start: 115 * us, End: 170 * us}, Pauses: []stall.Span{{Start: 120 * us, End: 130 * us}, {Start: 160 * us, End: 170 * us}}}},
		Stops: []stall.Interval{
			{Start: 120 * us, End: 130 * us, Cause: stall.GCPause, Ref: 1}, {Start: 160 * us, End: 170 * us, Cause: stall.GCPause, Ref: 1},
		},
		Gaps:     []stall.Interval{gap},
		Sentence: "76.0 us: 30.0 us in the program or the machine under it (app_or_host), 26.0 us on the way to the handler and back (queue), 20.0 us stopped for garbage collection (gc.pause); the load generator had 24.0 us more.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	var c blame.Case
	m.look(0, &c)
	var sums [strip.Generator + 1]time.Duration
	for _, part := range got.Times() {
		sums[part.Part] = part.Time
	}
	for p := range stall.NumParts {
		if sums[p] != *c.Share.Of(p) {
			t.Errorf("%v: %v is drawn, %v charged", p, sums[p], *c.Share.Of(p))
		}
	}
	if sums[strip.Generator] != c.Generator {
		t.Errorf("of the load generator %v is drawn, %v charged", sums[strip.Generator], c.Generator)
	}
	if m.answers[0].Arrival = 99 * us; m.draw(0, "it", nil) != nil {
		t.Error("a request is drawn whose pieces were not kept")
	}
}

// TestDrawnThatLie: pieces that do not follow on each other are refused, and no more are
// kept than there is room for.
func TestDrawnThatLie(t *testing.T) {
	for name, d := range map[string]drawn{
		"a gap":        {Arrival: 1, Pieces: []stall.Piece{{Start: 1, End: 2, Part: stall.App}, {Start: 3, End: 4, Part: stall.App}}},
		"late":         {Arrival: 1, Pieces: []stall.Piece{{Start: 2, End: 3, Part: stall.App}}},
		"backwards":    {Arrival: 1, Pieces: []stall.Piece{{Start: 1, End: 1, Part: stall.App}}},
		"of no part":   {Arrival: 1, Pieces: []stall.Piece{{Start: 1, End: 2, Part: stall.NumParts}}},
		"for two days": {Arrival: 1, Pieces: []stall.Piece{{Start: 1, End: stall.Instant(48 * time.Hour), Part: stall.App}}},
	} {
		a := &account{}
		if err := a.read(stream(t, []message{greeting(), {Drawn: &d}}), func() {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	list := []message{greeting()}
	for range maxDrawn + 3 {
		list = append(list, message{Drawn: &drawn{Arrival: 1, Pieces: []stall.Piece{{Start: 1, End: 2, Part: stall.App}}}})
	}
	if a := tell(t, append(list, lastWords())); len(a.drawn) != maxDrawn || a.dropped != 3 {
		t.Errorf("%d are kept and %d dropped, want %d and 3", len(a.drawn), a.dropped, maxDrawn)
	}
}

// TestGallery keeps the slowest, and some of the others.
func TestGallery(t *testing.T) {
	var g gallery
	for i := range stall.Instant(1000) {
		d := (i*7919)%1000 + 1 // each once
		g.keep(&otelgc.SlowRequest{
			Window: &stall.Window{Arrival: i + 1}, Share: &stall.Share{Total: time.Duration(d)},
			Pieces: []stall.Piece{{Start: i + 1, End: i + 1 + d}},
		})
	}
	g.keep(&otelgc.SlowRequest{Window: &stall.Window{}, Share: &stall.Share{}, Pieces: []stall.Piece{{End: 5000}}})
	if len(g.slowest) != keptDrawn || len(g.random) != keptDrawn || len(g.all()) != 2*keptDrawn {
		t.Fatalf("%d of the slowest are kept and %d others, want %d each", len(g.slowest), len(g.random), keptDrawn)
	}
	for i, d := range g.slowest {
		if want := time.Duration(1000 - i); d.lasted() != want {
			t.Errorf("slowest %d lasted %v, want %v", i, d.lasted(), want)
		}
	}
}
