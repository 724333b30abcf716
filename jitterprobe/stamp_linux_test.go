package jitterprobe

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// stamped is a probe whose own thread stamps stalls.
type stamped struct {
	*testing.T
	probe *followed
	gaps  []Gap
}

func startStamped(t *testing.T) *stamped {
	t.Helper()
	needSpin(t)
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	if clock.Namespace() != 0 {
		t.Skip("in a time namespace the thread reads another clock")
	}
	s := &stamped{T: t}
	s.probe = start(t, Options{Mode: Spin, Force: true, Clock: clock}, func(g Gap) { s.gaps = append(s.gaps, g) })
	return s
}

// turns and stalls in each: the best of many medians is that of a moment in which
// nobody else was there.
const turns, stalls = 10, 15

// stall has the thread stall, and returns when it did by its own stamps.
func (s *stamped) stall() (spans [turns * stalls]stall.Span) {
	s.Helper()
	for i := range spans {
		const length, stop = 500 * time.Microsecond, 2 // of Control.Stop: stall once, and clear it
		c := s.probe.loop.ring.Control
		c.Sleep = [2]int64{0, int64(length)}
		deadline := time.Now().Add(30 * time.Second)
		atomic.StoreUint64(&c.Stop, stop)
		for atomic.LoadUint64(&c.Stop) == stop {
			if time.Now().After(deadline) {
				s.Fatal("the thread did not stall")
			}
			time.Sleep(length / 10)
		}
		stamp := func(t [2]int64) stall.Instant { return stall.Instant(t[0]*int64(time.Second) + t[1]) }
		spans[i] = stall.Span{Start: stamp(c.Stamps[0]), End: stamp(c.Stamps[1])}
	}
	return spans
}

// off returns how far gaps begin before their stalls, and end after them: of each
// turn the distance with the rank, and of the turns the least. A gap is never
// shorter than its stall.
func (s *stamped) off(spans [turns * stalls]stall.Span, rank int) (before, after time.Duration) {
	s.Helper()
	before, after = time.Hour, time.Hour
	for turn := range turns {
		var starts, ends []time.Duration
		for _, v := range spans[turn*stalls:][:stalls] {
			i := slices.IndexFunc(s.gaps, func(g Gap) bool { return g.End >= v.End })
			if i < 0 || s.gaps[i].Start > v.Start.Add(s.gaps[i].Slack) {
				s.Fatalf("stall from %d to %d: no gap holds it", v.Start, v.End)
			}
			starts = append(starts, v.Start.Sub(s.gaps[i].Start))
			ends = append(ends, s.gaps[i].End.Sub(v.End))
		}
		slices.Sort(starts)
		slices.Sort(ends)
		before, after = min(before, starts[rank]), min(after, ends[rank])
	}
	return before, after
}

// A stall that the probe's own thread stamps is found to the microsecond. The
// thread reads the clock by a system call, and what interrupts it between the
// stamp and the loop makes the gap longer.
func TestStallIsFoundWhereItWas(t *testing.T) {
	s := startStamped(t)
	spans := s.stall()
	s.probe.Stop()
	before, after := s.off(spans, stalls/2)
	t.Logf("gaps begin %v before their stalls and end %v after them, median, best of %d turns", before, after, turns)
	if max(before, after) > time.Microsecond {
		t.Errorf("gaps begin %v before their stalls and end %v after them, want 1µs or less", before, after)
	}
}

// The error of a time stamp does not grow. This test takes a moment; the experiment
// clock of bench takes a minute.
func TestTimestampsDoNotDrift(t *testing.T) {
	const d = 2 * time.Second
	s := startStamped(t)
	first := s.stall()
	time.Sleep(d) // which is what drifts
	last := s.stall()
	s.probe.Stop()
	before0, after0 := s.off(first, 0)
	before1, after1 := s.off(last, 0)
	t.Logf("after %v: gaps begin %v earlier before their stalls, and end %v later after them", d, before1-before0, after1-after0)
	if drift := max((before1 - before0).Abs(), (after1 - after0).Abs()); drift > time.Microsecond {
		t.Errorf("drift in %v: got %v, want 1µs or less", d, drift)
	}
}
