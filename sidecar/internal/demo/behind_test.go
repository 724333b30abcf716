package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

// TestHeldUp: what a request waited for its turn is told apart where others were held up,
// itself not among them, and never more than it is charged.
func TestHeldUp(t *testing.T) {
	span := func(from, to stall.Instant) stall.Span { return stall.Span{Start: from * us, End: to * us} }
	none := stall.Span{}
	for name, tt := range map[string]struct {
		held []stall.Span

		there, late, back  stall.Span
		queue, sched, byGC time.Duration // that it is charged; byGC is of sched.gc
		itself             bool          // it is held up: the last of held
		want               blame.Behind
	}{
		"nobody is":              {there: span(100, 200), queue: 100_000},
		"one, on the way there":  {held: []stall.Span{span(50, 150)}, there: span(100, 200), queue: 100_000, want: blame.Behind{QueueBehindGC: 50_000}},
		"one, on the way back":   {held: []stall.Span{span(350, 380)}, there: span(100, 200), back: span(300, 400), queue: 200_000, want: blame.Behind{QueueBehindGC: 30_000}},
		"two at once count once": {held: []stall.Span{span(120, 180), span(110, 150)}, there: span(100, 200), queue: 100_000, want: blame.Behind{QueueBehindGC: 70_000}},
		"before it was sent":     {held: []stall.Span{span(100, 150)}, there: span(100, 200), late: span(100, 140), queue: 60_000, want: blame.Behind{QueueBehindGC: 10_000}},
		"no more than its queue": {held: []stall.Span{span(0, 1000)}, there: span(100, 200), back: span(300, 400), queue: 30_000, want: blame.Behind{QueueBehindGC: 30_000}},
		"in its handler":         {held: []stall.Span{span(250, 350)}, sched: 20_000, byGC: 70_000, want: blame.Behind{SchedBehindGC: 50_000}},
		"no more than its sched": {held: []stall.Span{span(250, 350)}, sched: 10_000, byGC: 5_000, want: blame.Behind{SchedBehindGC: 15_000}},
		"it alone":               {held: []stall.Span{span(200, 300)}, there: span(100, 200), back: span(300, 400), queue: 100_000, sched: 100_000, itself: true},
		"it and another":         {held: []stall.Span{span(150, 220), span(200, 300)}, there: span(100, 200), queue: 100_000, sched: 100_000, itself: true, want: blame.Behind{QueueBehindGC: 50_000, SchedBehindGC: 20_000}},
		"it and two others":      {held: []stall.Span{span(210, 240), span(220, 250), span(200, 300)}, sched: 100_000, itself: true, want: blame.Behind{SchedBehindGC: 40_000}},
		"empty spans are none":   {held: []stall.Span{span(250, 250), none}, there: span(100, 200), queue: 100_000, sched: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			h := heldUp{above: 50 * time.Microsecond}
			h.set(tt.held)
			w := &window{Start: 200 * us, End: 300 * us}
			if tt.itself {
				w.Charged[stall.GCWait] = 10_000
			}
			answer := &load.Answer{Arrival: 100 * us, Receipt: 400 * us}
			if got := h.has(answer, w); got != tt.itself {
				t.Fatalf("held up: %v, want %v", got, tt.itself)
			}
			var c blame.Case
			c.Share.Charged[stall.Queue], c.Share.Charged[stall.Sched], c.Share.Charged[stall.SchedGC] = tt.queue, tt.sched, tt.byGC
			want := c
			want.Behind = tt.want
			h.lookBehind(&c, answer, w, tt.there, tt.late, tt.back)
			if diff := cmp.Diff(want, c); diff != "" {
				t.Errorf("case (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeldUpHas: a request is held up if it is slow, and the collector had a tenth.
func TestHeldUpHas(t *testing.T) {
	h := heldUp{above: 99 * time.Microsecond}
	for name, tt := range map[string]struct {
		latency, handler stall.Instant
		charged          map[stall.Cause]time.Duration
		want             bool
	}{
		"a tenth":                 {100, 50, map[stall.Cause]time.Duration{stall.GCAssist: 5_000}, true},
		"less than a tenth":       {100, 50, map[stall.Cause]time.Duration{stall.GCAssist: 4_999}, false},
		"a tenth of several":      {100, 50, map[stall.Cause]time.Duration{stall.GCSweep: 2_000, stall.GCWait: 3_000}, true},
		"not slow":                {99, 50, map[stall.Cause]time.Duration{stall.GCAssist: 50_000}, false},
		"sched.gc is a bound":     {100, 50, map[stall.Cause]time.Duration{stall.SchedGC: 50_000}, false},
		"nothing of no handler":   {100, 0, nil, false},
		"nothing of a slow one's": {100, 50, nil, false},
	} {
		w := &window{End: tt.handler * us}
		for c, d := range tt.charged {
			w.Charged[c] = d
		}
		if got := h.has(&load.Answer{Receipt: tt.latency * us}, w); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestBehind: of 22 requests the slowest is held up, and the next one waits behind it. The
// band's bound and the sentence say so.
func TestBehind(t *testing.T) {
	var answers []load.Answer
	for i := range stall.Instant(20) {
		answers = append(answers, load.Answer{Arrival: (1 + 20*i) * us, Ready: (1 + 20*i) * us, Sent: (1 + 20*i) * us, Receipt: (11 + 20*i) * us})
	}
	const held, waits = 20, 21
	answers = append(answers,
		load.Answer{Arrival: 1000 * us, Ready: 1000 * us, Sent: 1000 * us, Receipt: 1200 * us},
		load.Answer{Arrival: 1020 * us, Ready: 1020 * us, Sent: 1020 * us, Receipt: 1130 * us})
	slow := stall.Window{Arrival: 1000 * us, Start: 1010 * us, End: 1100 * us}
	slowShare := stall.Share{Total: 100_000, App: 10_000, Covered: 100_000, Collections: 1, LastCollection: 1, Fidelity: stall.Exact}
	slowShare.Charged[stall.Queue], slowShare.Charged[stall.GCAssist] = 10_000, 80_000
	next := stall.Window{Arrival: 1020 * us, Start: 1110 * us, End: 1130 * us}
	nextShare := stall.Share{Total: 110_000, App: 20_000, Covered: 110_000, Fidelity: stall.Exact}
	nextShare.Charged[stall.Queue] = 90_000
	app := stall.App
	m, err := match(answers, tell(t, []message{
		greeting(),
		resolved(&slow, &slowShare),
		resolved(&next, &nextShare),
		{Drawn: &drawn{Arrival: 1000 * us, Pieces: []stall.Piece{{Start: 1000 * us, End: 1010 * us, Part: queue}, {Start: 1010 * us, End: 1090 * us, Part: assist}, {Start: 1090 * us, End: 1100 * us, Part: app}}}},
		{Drawn: &drawn{Arrival: 1020 * us, Pieces: []stall.Piece{{Start: 1020 * us, End: 1110 * us, Part: queue}, {Start: 1110 * us, End: 1130 * us, Part: app}}}},
		lastWords(),
	}), new(followed))
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[int]blame.Behind{held: {}, waits: {QueueBehindGC: 80_000}, 0: {}} {
		var c blame.Case
		m.look(k, &c)
		if c.Behind != want {
			t.Errorf("request %d: %+v, want %+v", k, c.Behind, want)
		}
		if owners := c.Share.GC(); k == waits && owners != 0 {
			t.Errorf("the collector is charged %v of the one that waited", owners)
		}
	}
	const want = "; for 80.0 us of it, at most, it waited behind another slow request that the collector held up."
	if got := m.draw(waits, "", nil).Sentence; !strings.HasSuffix(got, want) {
		t.Errorf("sentence: got %q, want it to end with %q", got, want)
	}
	if got := m.draw(held, "", nil).Sentence; strings.Contains(got, "behind") {
		t.Errorf("the one that was held up waited: %q", got)
	}
}

// TestBehindPieces: of a request with its pieces it is known when it waited for a CPU.
func TestBehindPieces(t *testing.T) {
	var h heldUp
	h.set([]stall.Span{{Start: 100, End: 200}})
	got := h.behind([]stall.Piece{
		{Start: 0, End: 120, Part: queue},                        // 20
		{Start: 120, End: 130, Part: strip.Generator},            // not its own
		{Start: 130, End: 140, Part: assist},                     // not a wait
		{Start: 140, End: 145, Part: stall.Part(stall.Sched)},    // 5
		{Start: 145, End: 210, Part: stall.Part(stall.SchedGC)},  // 55
		{Start: 210, End: 300, Part: stall.Part(stall.Sched)},    // after it
		{Start: 300, End: 310, Part: stall.Part(stall.App)},      // its own
		{Start: 310, End: 320, Part: stall.Part(stall.GCAssist)}, // of itself, but it is no slow one
	}, &load.Answer{}, new(window))
	if got != 80 {
		t.Errorf("waited %d ns behind another one, want 80", got)
	}
}
