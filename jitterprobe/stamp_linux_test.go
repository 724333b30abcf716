package jitterprobe

import (
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// A stall that the probe's own thread stamps is found to the microsecond. The
// thread reads the clock by a system call, and what interrupts it between the
// stamp and the loop makes the gap longer: so the median, of the best of several
// turns, and a gap never shorter than its stall.
func TestStallIsFoundWhereItWas(t *testing.T) {
	needSpin(t)
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	if clock.Namespace() != 0 {
		t.Skip("in a time namespace the thread reads another clock")
	}
	var gaps []Gap
	p := start(t, Options{Mode: Spin, Force: true, Clock: clock, OnGap: func(g Gap) { gaps = append(gaps, g) }})
	raw := p.engine.(*spinEngine).raw
	const turns, stalls = 10, 15
	var want [turns * stalls]stall.Span
	for i := range want {
		from, to, ok := raw.Stall(500*time.Microsecond, 30*time.Second)
		if !ok {
			t.Fatal("the thread did not stall")
		}
		want[i] = stall.Span{Start: stall.Instant(from), End: stall.Instant(to)}
	}
	p.Stop()
	best := time.Hour
	for turn := range turns {
		var off []time.Duration
		for _, s := range want[turn*stalls:][:stalls] {
			i := slices.IndexFunc(gaps, func(g Gap) bool { return g.End >= s.End })
			if i < 0 || gaps[i].Start > s.Start.Add(gaps[i].Slack) {
				t.Fatalf("stall from %d to %d: no gap holds it", s.Start, s.End)
			}
			g := gaps[i]
			off = append(off, max(s.Start.Sub(g.Start), g.End.Sub(s.End)))
		}
		slices.Sort(off)
		best = min(best, off[len(off)/2])
	}
	t.Logf("median distance of gap and stall, best of %d turns: %v", turns, best)
	if best > time.Microsecond {
		t.Errorf("median distance of gap and stall: got %v, want 1µs or less", best)
	}
}
