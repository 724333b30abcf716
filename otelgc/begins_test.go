package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestCollectionsOfAWindow(t *testing.T) {
	var b begins
	for _, at := range []stall.Instant{100, 300, 500} {
		b.addExact(&exactStop{Span: stall.Span{Start: at, End: at + 10}, gc: true, phase: gc.SweepTermination})
		b.addExact(&exactStop{Span: stall.Span{Start: at + 50, End: at + 60}, gc: true, phase: gc.MarkTermination})
	}
	b.addCycle([]gc.Pause{{Start: 1000, End: 1010}, {Start: 1050, End: 1060}})
	b.addCycle([]gc.Pause{{Start: 2190, End: 2200}})
	pause := func(at stall.Instant) stall.Interval { return own(at, at+10, stall.GCPause) }
	cycle := func(at stall.Instant) stall.Interval {
		v := pause(at)
		v.Origin = stall.GCWatch
		return v
	}
	vague := func(at stall.Instant, slack time.Duration) stall.Interval {
		v := cycle(at)
		v.Slack = slack
		return v
	}
	exact := func(at stall.Instant, slack time.Duration) stall.Interval {
		v := vague(at, slack)
		v.Origin = stall.GoTrace
		return v
	}
	list := func(v ...stall.Interval) []stall.Interval { return v }
	for name, c := range map[string]struct {
		w    stall.Window
		e    stall.Evidence
		want int
	}{
		"both pauses of one": {stall.Window{Start: 90, End: 200}, stall.Evidence{Process: list(pause(100), pause(150))}, 1},
		"end of one, begin of the next": {
			stall.Window{Start: 140, End: 320},
			stall.Evidence{Process: list(pause(150), pause(300))}, 2,
		},
		"three": {
			stall.Window{Start: 0, End: 999},
			stall.Evidence{Process: list(pause(100), pause(150), pause(300), pause(350), pause(500), pause(550))}, 3,
		},
		"assist only":                            {stall.Window{Start: 110, End: 140}, stall.Evidence{Own: list(own(115, 120, stall.GCAssist))}, 1},
		"assist and pause of one":                {stall.Window{Start: 110, End: 180}, stall.Evidence{Own: list(own(115, 120, stall.GCAssist)), Process: list(pause(150))}, 1},
		"waiting for a CPU is none":              {stall.Window{Start: 90, End: 400}, stall.Evidence{Own: list(own(310, 320, stall.SchedGC)), Process: list(pause(100))}, 1},
		"before the watch":                       {stall.Window{Start: 0, End: 60}, stall.Evidence{Process: list(pause(50))}, 1},
		"cycle fidelity":                         {stall.Window{Start: 990, End: 2000}, stall.Evidence{Process: list(cycle(1000), cycle(1050))}, 1},
		"cycle fidelity, half of it certain":     {stall.Window{Start: 1005, End: 2000}, stall.Evidence{Process: list(vague(1000, 3))}, 1},
		"cycle fidelity, only its nominal place": {stall.Window{Start: 990, End: 1040}, stall.Evidence{Process: list(vague(1000, 30))}, 0},
		"cycle fidelity, wherever it is":         {stall.Window{Start: 970, End: 1040}, stall.Evidence{Process: list(vague(1000, 30))}, 1},
		"cycle fidelity, one of two certain": {
			stall.Window{Start: 990, End: 1200},
			stall.Evidence{Process: list(vague(300, 900), vague(1000, 30), vague(1050, 1))}, 1,
		},
		"cycle fidelity, the second one only by its nominal place": {
			stall.Window{Start: 1040, End: 2200},
			stall.Evidence{Process: list(vague(1050, 1), vague(2190, 20))}, 1,
		},
		"exact, at the end":    {stall.Window{Start: 990, End: 1002}, stall.Evidence{Process: list(exact(1000, 64))}, 1},
		"one of each fidelity": {stall.Window{Start: 490, End: 2000}, stall.Evidence{Process: list(pause(500), cycle(1000))}, 2},
		"not in the window":    {stall.Window{Start: 90, End: 120}, stall.Evidence{Process: list(pause(100), pause(300))}, 1},
		"slept through a second one": {
			stall.Window{Start: 90, End: 400},
			stall.Evidence{
				Process: list(pause(100), pause(300)),
				Track:   []stall.StateSpan{{Start: 90, End: 200, State: stall.StateRunnable}, {Start: 200, End: 400, State: stall.StateParked}},
			}, 1,
		},
		"ran on as the second one ended": {
			stall.Window{Start: 90, End: 400},
			stall.Evidence{
				Process: list(pause(100), pause(300)),
				Track:   []stall.StateSpan{{Start: 90, End: 250, State: stall.StateRunnable}, {Start: 250, End: 400, State: stall.StateRunning}},
			}, 1,
		},
		"parked as it arrived, which delays the handler": {
			stall.Window{Arrival: 90, Start: 200, End: 400},
			stall.Evidence{
				Process: list(pause(100), pause(300)),
				Track:   []stall.StateSpan{{Start: 90, End: 200, State: stall.StateParked}, {Start: 200, End: 400, State: stall.StateRunnable}},
			}, 2,
		},
		"ran, then slept": {
			stall.Window{Start: 90, End: 400},
			stall.Evidence{
				Process: list(pause(100), pause(300)),
				Track: []stall.StateSpan{
					{Start: 90, End: 200, State: stall.StateRunnable}, {Start: 200, End: 305, State: stall.StateRunning},
					{Start: 305, End: 400, State: stall.StateParked},
				},
			}, 1,
		},
		"in a state that nobody knows": {
			stall.Window{Start: 90, End: 400},
			stall.Evidence{
				Process: list(pause(100), pause(300)),
				Track:   []stall.StateSpan{{Start: 90, End: 200, State: stall.StateParked}, {Start: 200, End: 302, State: stall.StateRunning}},
			}, 1,
		},
		"made it itself": {
			stall.Window{Start: 90, End: 200},
			stall.Evidence{
				Process: list(pause(100)), Own: list(pause(100)),
				Track: []stall.StateSpan{{Start: 90, End: 200, State: stall.StateRunning}},
			}, 1,
		},
	} {
		var m met
		if b.count(&c.w, &c.e, &m); m.n() != c.want {
			t.Errorf("%s: got %d collections, want %d", name, m.n(), c.want)
		}
		extent := c.w.Extent()
		if last := m.last(); (last > 0) != (c.want > 0) || last > extent.End {
			t.Errorf("%s: the last of %d began at %d, want it not after %d", name, c.want, last, extent.End)
		}
	}
}

func TestBeginsAreBounded(t *testing.T) {
	var b begins
	for i := range stall.Instant(10 * keptBegins) {
		b.addCycle([]gc.Pause{{Start: i}})
	}
	if n := len(b.cycle); n > 2*keptBegins || b.cycle[n-1] != 10*keptBegins-1 {
		t.Errorf("%d begins are kept, the last is %d", n, b.cycle[n-1])
	}
}
