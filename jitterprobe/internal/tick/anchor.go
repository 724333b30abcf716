package tick

import (
	"math"

	"github.com/otelgc/otelgc/stall"
)

// Anchor relates the counter to the shared clock at one moment: Ticks was the
// counter at At, within Width/2 ticks.
type Anchor struct {
	Ticks uint64
	At    stall.Instant
	Width uint64
}

// anchorTries is how many brackets are tried for the tightest: an interrupt
// widens one of them by microseconds, hardly sixteen.
const anchorTries = 16

// TakeAnchor measures an anchor. It takes about a microsecond.
func TakeAnchor(clock stall.Clock) Anchor {
	best := Anchor{Width: math.MaxUint64}
	for range anchorTries {
		before := Now()
		at := clock.Now()
		width := Now() - before
		if width < best.Width {
			best = Anchor{Ticks: before + width/2, At: at, Width: width}
		}
	}
	return best
}
