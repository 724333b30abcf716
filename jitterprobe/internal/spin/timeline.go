package spin

import (
	"math"
	"time"

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

// maxAnchors is how many anchors a Timeline keeps: at one per 50 ms, half a minute.
const maxAnchors = 600

// maxSlew bounds what the kernel does to the rate of CLOCK_MONOTONIC: NTP may
// slew it by 500 ppm (adjtimex(2), MAXFREQ).
const maxSlew = 500e-6

// Timeline turns ticks into instants by interpolating between the anchors
// around them. One calibration at the start would be wrong by a millisecond per
// minute where NTP steers the clock; between anchors 100 ms apart nothing has
// time to go wrong.
type Timeline struct {
	anchors []Anchor
	err     time.Duration
}

// NewTimeline starts a timeline whose instants have at least the error of the
// clock that the anchors were taken with.
func NewTimeline(clock stall.Clock) *Timeline {
	return &Timeline{err: clock.Error()}
}

// Add appends a later anchor. One that is not later is ignored.
func (t *Timeline) Add(a Anchor) {
	if n := len(t.anchors); n > 0 && (a.Ticks <= t.anchors[n-1].Ticks || a.At <= t.anchors[n-1].At) {
		return
	}
	if len(t.anchors) == maxAnchors {
		copy(t.anchors, t.anchors[1:])
		t.anchors = t.anchors[:maxAnchors-1]
	}
	t.anchors = append(t.anchors, a)
}

// NanosPerTick returns the length of a tick over all anchors, 0 with fewer
// than two.
func (t *Timeline) NanosPerTick() float64 {
	n := len(t.anchors)
	if n < 2 {
		return 0
	}
	return rate(t.anchors[0], t.anchors[n-1])
}

// At returns the instant of ticks and the bound of its error. It needs two
// anchors.
func (t *Timeline) At(ticks uint64) (stall.Instant, time.Duration) {
	n := len(t.anchors)
	if n < 2 {
		return 0, math.MaxInt64
	}
	// What is asked about came to light just now, and so does not lie far back.
	i := n - 1
	for i >= 0 && t.anchors[i].Ticks > ticks {
		i--
	}
	if i < 0 {
		return t.outside(t.anchors[0], ticks)
	}
	if i == n-1 {
		return t.outside(t.anchors[n-1], ticks)
	}
	a, b := t.anchors[i], t.anchors[i+1]
	r := rate(a, b)
	at := a.At.Add(time.Duration(math.Round(float64(ticks-a.Ticks) * r)))
	slack := t.err + halfWidth(max(a.Width, b.Width), r)
	if i > 0 {
		// Where the rate bends by d at the part x of a stretch of length l, the
		// straight line is off by x(1-x)dl at most, and its own rate differs
		// from the one before by (1-x)d: at most l times what differs.
		bend := math.Abs(r - rate(t.anchors[i-1], a))
		slack += time.Duration(math.Ceil(bend*float64(b.Ticks-a.Ticks))) + 1
	}
	return at, slack
}

// outside extrapolates from the nearest anchor with the rate of the whole.
func (t *Timeline) outside(a Anchor, ticks uint64) (stall.Instant, time.Duration) {
	r := t.NanosPerTick()
	d := float64(int64(ticks-a.Ticks)) * r
	slack := t.err + halfWidth(a.Width, r) + time.Duration(math.Ceil(math.Abs(d)*maxSlew))
	return a.At.Add(time.Duration(math.Round(d))), slack
}

// rate returns the nanoseconds per tick between two anchors.
func rate(a, b Anchor) float64 {
	return float64(b.At.Sub(a.At)) / float64(b.Ticks-a.Ticks)
}

func halfWidth(ticks uint64, rate float64) time.Duration {
	return time.Duration(math.Ceil(float64(ticks) * rate / 2))
}
