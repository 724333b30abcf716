package spin

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// A counter of 2 GHz, anchored every 100,000 ticks (50 us).
func steady(n int) *Timeline {
	t := &Timeline{}
	for i := range n {
		t.Add(Anchor{Ticks: 1e6 + 100_000*uint64(i), At: 5e9 + stall.Instant(50_000*i), Width: 40})
	}
	return t
}

func TestTimelineInterpolates(t *testing.T) {
	line := steady(10)
	for ticks, want := range map[uint64]stall.Instant{
		1e6:           5e9,
		1e6 + 1:       5e9 + 1, // half a nanosecond, rounded
		1e6 + 50_000:  5e9 + 25_000,
		1e6 + 899_998: 5e9 + 449_999,
		1e6 - 2000:    5e9 - 1000,    // before the first
		1e6 + 902_000: 5e9 + 451_000, // after the last
	} {
		got, slack := line.At(ticks)
		if got != want {
			t.Errorf("instant of %d: got %d, want %d", ticks, got, want)
		}
		if slack < 10 || slack > 20 {
			t.Errorf("slack of %d: got %v, want half the bracket, 10 ns, and little more", ticks, slack)
		}
	}
	if got := line.NanosPerTick(); got != 0.5 {
		t.Errorf("tick: got %v ns, want 0.5", got)
	}
}

// The error of an instant where the clock changes its rate is within the slack.
func TestTimelineAdmitsABend(t *testing.T) {
	const bend = 400e-6
	truth := func(ticks uint64) stall.Instant {
		d := float64(ticks) / 2
		if late := float64(ticks) - 150_000; late > 0 {
			d += late / 2 * bend
		}
		return stall.Instant(5e9 + d)
	}
	line := &Timeline{}
	for i := range uint64(5) {
		line.Add(Anchor{Ticks: 100_000 * i, At: truth(100_000 * i), Width: 2})
	}
	for ticks := uint64(0); ticks <= 400_000; ticks += 1000 {
		got, slack := line.At(ticks)
		if e := got.Sub(truth(ticks)).Abs(); e > slack {
			t.Errorf("instant of %d: off by %v, slack %v", ticks, e, slack)
		}
	}
}

func TestTimelineForgets(t *testing.T) {
	line := steady(3 * maxAnchors)
	if n := len(line.anchors); n != maxAnchors {
		t.Errorf("anchors: got %d, want %d", n, maxAnchors)
	}
	got, slack := line.At(1e6)
	off := got.Sub(5e9).Abs()
	if off > slack {
		t.Errorf("a tick from before the first anchor: off by %v, slack %v", off, slack)
	}
}

func TestTimelineIgnoresAnAnchorThatIsNotLater(t *testing.T) {
	line := steady(2)
	line.Add(Anchor{Ticks: 5, At: 9e9})
	line.Add(Anchor{Ticks: 9e9, At: 5})
	if n := len(line.anchors); n != 2 {
		t.Errorf("anchors: got %d, want 2", n)
	}
	if _, slack := new(Timeline).At(1); slack < time.Hour {
		t.Errorf("slack without anchors: got %v, want no claim", slack)
	}
}

func TestSpinFindsTheGapItMustFind(t *testing.T) {
	if !Supported {
		t.Skip("this build has no counter")
	}
	now := Now()
	// The first read is far from a previous one that lies in the past.
	left, last, next := Spin(now-1<<40, 1<<39, 10)
	if left != 10 || last != now-1<<40 || next < now {
		t.Errorf("got left %d, last %d, now %d; want 10, %d, at least %d", left, last, next, now-1<<40, now)
	}
	left, last, next = Spin(Now(), 1<<62, 1000)
	if left != 0 || last != next {
		t.Errorf("got left %d, last %d, now %d; want 0 and the same twice", left, last, next)
	}
}

func TestAnchorIsNow(t *testing.T) {
	if err := Usable("/"); err != nil {
		t.Skip(err)
	}
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	before, a, after := clock.Now(), TakeAnchor(clock), clock.Now()
	if a.At < before || a.At > after || a.Ticks == 0 {
		t.Errorf("anchor %+v taken between %d and %d", a, before, after)
	}
}
