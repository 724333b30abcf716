package target

import (
	"testing"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestTimeInGC(t *testing.T) {
	pause := func(start, suspend, end stall.Instant) *gc.Collection {
		return &gc.Collection{Pauses: []gc.Pause{{Start: start, End: end, Suspend: gc.Known(suspend.Sub(start))}}}
	}
	var g timeInGC
	check := func(what string, want gc.Maybe[float64]) {
		t.Helper()
		if g.share != want {
			t.Errorf("%s: got %v, want %v", what, g.share, want)
		}
	}
	g.add(pause(100, 110, 200))
	check("the first", gc.Maybe[float64]{})
	g.add(pause(900, 1100, 1200)) // 100 of 1000: the suspension is left out
	check("the second", gc.Known(0.1))
	g.add(pause(500, 510, 600))
	check("one that was told late", gc.Known(0.1))
	g.reset()
	g.add(pause(5000, 5010, 5100))
	check("the first of another session", gc.Known(0.1))
	g.add(pause(5200, 5300, 5350))
	check("the second of it", gc.Known(0.2))
	g.add(&gc.Collection{Pauses: []gc.Pause{{Start: 6000, End: 6100}}})
	check("one of which the suspension is not known", gc.Maybe[float64]{})
}
