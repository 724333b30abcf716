package stall

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCollectionsOfAWindow: collections 1, 2 and 3 have exact pauses at 100 and 150, 300
// and 350, 500 and 550; 4 has pauses of cycle fidelity at 1000 and 1050, and 5 one at 2190.
func TestCollectionsOfAWindow(t *testing.T) {
	ref := func(at Instant) uint64 {
		for i, from := range []Instant{2190, 1000, 500, 300, 100} {
			if at >= from {
				return uint64(5 - i)
			}
		}
		return 6 // before all, on which the others follow
	}
	span := func(start, end Instant, c Cause) Interval {
		return Interval{Start: start, End: end, Cause: c, Origin: GoTrace, Ref: ref(start)}
	}
	pause := func(at Instant) Interval { return span(at, at+10, GCPause) }
	vague := func(at Instant, slack time.Duration) Interval {
		v := pause(at)
		v.Origin, v.Slack = GCWatch, slack
		return v
	}
	cycle := func(at Instant) Interval { return vague(at, 0) }
	exact := func(at Instant, slack time.Duration) Interval {
		v := pause(at)
		v.Slack = slack
		return v
	}
	unnumbered := pause(300)
	unnumbered.Ref = 0
	later, assist := unnumbered, span(310, 320, GCAssist)
	later.Start, later.End, assist.Ref = 350, 360, 0
	list := func(v ...Interval) []Interval { return v }
	type track = []StateSpan
	for name, c := range map[string]struct {
		w    Window
		e    Evidence
		want int
		last uint64
	}{
		"both pauses of one":            {Window{Start: 90, End: 200}, Evidence{Process: list(pause(100), pause(150))}, 1, 1},
		"end of one, begin of the next": {Window{Start: 140, End: 320}, Evidence{Process: list(pause(150), pause(300))}, 2, 2},
		"three": {
			Window{Start: 0, End: 999},
			Evidence{Process: list(pause(100), pause(150), pause(300), pause(350), pause(500), pause(550))}, 3, 3,
		},
		"assist only":                            {Window{Start: 110, End: 140}, Evidence{Own: list(span(115, 120, GCAssist))}, 1, 1},
		"assist and pause of one":                {Window{Start: 110, End: 180}, Evidence{Own: list(span(115, 120, GCAssist)), Process: list(pause(150))}, 1, 1},
		"assist after the pause of another":      {Window{Start: 90, End: 400}, Evidence{Own: list(span(310, 320, GCAssist)), Process: list(pause(150))}, 2, 2},
		"waiting for a CPU is none":              {Window{Start: 90, End: 400}, Evidence{Own: list(span(310, 320, SchedGC)), Process: list(pause(100))}, 1, 1},
		"before the watch":                       {Window{Start: 0, End: 60}, Evidence{Process: list(pause(50))}, 1, 6},
		"one without a number":                   {Window{Start: 90, End: 400}, Evidence{Process: list(pause(100), unnumbered)}, 2, 1},
		"two without a number":                   {Window{Start: 200, End: 400}, Evidence{Process: list(unnumbered, later)}, 2, 0},
		"an assist without a number":             {Window{Start: 90, End: 400}, Evidence{Own: list(assist), Process: list(pause(100))}, 1, 1},
		"a suspension":                           {Window{Start: 90, End: 200}, Evidence{Process: list(span(100, 110, RuntimeSuspension))}, 0, 0},
		"cycle fidelity":                         {Window{Start: 990, End: 2000}, Evidence{Process: list(cycle(1000), cycle(1050))}, 1, 4},
		"cycle fidelity, half of it certain":     {Window{Start: 1005, End: 2000}, Evidence{Process: list(vague(1000, 3))}, 1, 4},
		"cycle fidelity, only its nominal place": {Window{Start: 990, End: 1040}, Evidence{Process: list(vague(1000, 30))}, 0, 0},
		"cycle fidelity, wherever it is":         {Window{Start: 970, End: 1040}, Evidence{Process: list(vague(1000, 30))}, 1, 4},
		"cycle fidelity, one of two certain": {
			Window{Start: 990, End: 1200},
			Evidence{Process: list(vague(300, 900), vague(1000, 30), vague(1050, 1))}, 1, 4,
		},
		"cycle fidelity, the second one only by its nominal place": {
			Window{Start: 1040, End: 2200},
			Evidence{Process: list(vague(1050, 1), vague(2190, 20))}, 1, 4,
		},
		"exact, at the end":                {Window{Start: 990, End: 1002}, Evidence{Process: list(exact(1000, 64))}, 0, 0}, // none of it is certain
		"exact, at the end, after another": {Window{Start: 490, End: 1002}, Evidence{Process: list(pause(500), exact(1000, 64))}, 2, 4},
		"one of each fidelity":             {Window{Start: 490, End: 2000}, Evidence{Process: list(pause(500), cycle(1000))}, 2, 4},
		"one in both": {
			Window{Start: 990, End: 2000},
			Evidence{Process: list(pause(1000), cycle(1050))}, 1, 4,
		},
		"not in the window": {Window{Start: 90, End: 120}, Evidence{Process: list(pause(100), pause(300))}, 1, 1},
		"slept through a second one": {
			Window{Start: 90, End: 400},
			Evidence{
				Process: list(pause(100), pause(300)),
				Track:   track{{90, 200, StateRunnable}, {200, 400, StateParked}},
			}, 1, 1,
		},
		"ran on as the second one ended": {
			Window{Start: 90, End: 400},
			Evidence{
				Process: list(pause(100), pause(300)),
				Track:   track{{90, 250, StateRunnable}, {250, 400, StateRunning}},
			}, 1, 1,
		},
		"parked as it arrived, which delays the handler": {
			Window{Arrival: 90, Start: 200, End: 400},
			Evidence{
				Process: list(pause(100), pause(300)),
				Track:   track{{90, 200, StateParked}, {200, 400, StateRunnable}},
			}, 2, 2,
		},
		"ran, then slept": {
			Window{Start: 90, End: 400},
			Evidence{
				Process: list(pause(100), pause(300)),
				Track:   track{{90, 200, StateRunnable}, {200, 305, StateRunning}, {305, 400, StateParked}},
			}, 1, 1,
		},
		"in a state that nobody knows": {
			Window{Start: 90, End: 400},
			Evidence{
				Process: list(pause(100), pause(300)),
				Track:   track{{90, 200, StateParked}, {200, 302, StateRunning}},
			}, 1, 2,
		},
		"made it itself": {
			Window{Start: 90, End: 200},
			Evidence{
				Process: list(pause(100)), Own: list(pause(100)),
				Track: track{{90, 200, StateRunning}},
			}, 1, 1,
		},
	} {
		var j Joiner
		var s Share
		if j.Join(&c.w, &c.e, &s); s.Collections != c.want || s.LastCollection != c.last {
			t.Errorf("%s: %d collections, the last is %d, want %d and %d: %s", name, s.Collections, s.LastCollection, c.want, c.last, s.Explain())
		}
		// In pieces each counts once, too.
		for cut := c.w.Start + 1; cut < c.w.End && c.w.Arrival == 0; cut += 7 {
			first, second := c.w, c.w
			first.End, second.Start = cut, cut
			j.Join(&first, &c.e, &s)
			n := s.Collections
			var rest Share
			new(Joiner).Join(&second, &c.e, &rest)
			if j.Extend(&second, &c.e, &s); s.Collections > n+rest.Collections || s.Collections < max(n, rest.Collections) || s.Total != c.w.End.Sub(c.w.Start) {
				t.Errorf("%s: cut at %d: %d collections of %d and %d", name, cut, s.Collections, n, rest.Collections)
			}
			if slack := func(v Interval) bool { return v.Slack > 0 }; !slices.ContainsFunc(c.e.Process, slack) && s.GC() > 0 && s.Collections > c.want && !strings.Contains(name, "without a number") {
				t.Errorf("%s: cut at %d: %d collections, want %d", name, cut, s.Collections, c.want)
			}
		}
	}
}
