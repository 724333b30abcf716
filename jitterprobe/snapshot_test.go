package jitterprobe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func gapOf(d time.Duration) Gap {
	return Gap{Interval: stall.Interval{Start: 1e9, End: 1e9 + 1}}.longer(d - 1)
}

func (g Gap) longer(d time.Duration) Gap {
	g.End = g.End.Add(d)
	return g
}

func TestSnapshotCounts(t *testing.T) {
	s := newSnapshot()
	for _, d := range []time.Duration{1500, 2000, 10_000, 99_999, time.Millisecond} {
		s.keep(gapOf(d), false)
	}
	want := []uint64{4, 3, 2, 1, 1}
	for i, c := range s.Counts {
		if c.N != want[i] {
			t.Errorf("gaps of at least %v: got %d, want %d", c.AtLeast, c.N, want[i])
		}
	}
	if s.Gaps != 5 || s.GapTime != 1113499 || s.Longest.Duration() != time.Millisecond {
		t.Errorf("got %d gaps, %v, longest %v", s.Gaps, s.GapTime, s.Longest.Duration())
	}
}

// One gap of 3.5 periods: the wake-ups that it swallowed would have been late
// by 2.5, 1.5 and half a period.
func TestSnapshotFillsInMissedWakeups(t *testing.T) {
	s := newSnapshot()
	s.keep(gapOf(3500*time.Microsecond), true)
	if s.Gaps != 1 || s.GapTime != 3500*time.Microsecond {
		t.Errorf("got %d gaps, %v; want 1, 3.5ms", s.Gaps, s.GapTime)
	}
	if ms, us := s.Counts[4].N, s.Counts[3].N; ms != 3 || us != 4 {
		t.Errorf("got %d of 1 ms, %d of 100 us; want 3, 4", ms, us)
	}
}

func TestHistogramBounds(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{0, 1, 2, 3, 4, 1 << 62} {
		h.Add(d)
	}
	want := Histogram{0: 2, 1: 2, 2: 1, Buckets - 1: 1}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("histogram (-want +got):\n%s", diff)
	}
}

func TestCovered(t *testing.T) {
	s := Snapshot{Start: 1000, Watermark: 2000, DroppedTime: 250}
	if got := s.Covered(); got != 0.75 {
		t.Errorf("covered: got %v, want 0.75", got)
	}
	if got := new(Snapshot).Covered(); got != 0 {
		t.Errorf("covered of nothing: got %v, want 0", got)
	}
}

func TestModeNames(t *testing.T) {
	for m := range numModes {
		got, err := ParseMode(m.String())
		if got != m || err != nil {
			t.Errorf("parse %q: got %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("loop"); err == nil {
		t.Error("parse \"loop\": no error")
	}
}

func TestCPUList(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0-2,4,6-7": {0, 1, 2, 4, 6, 7}} {
		if got := cpuList(cpus); got != want {
			t.Errorf("list of %v: got %q, want %q", cpus, got, want)
		}
	}
}

func TestSnapshotMerge(t *testing.T) {
	a, b := newSnapshot(), newSnapshot()
	a.Start, a.Watermark, a.Loop, a.Balance = 1000, 4000, 10, 1
	b.Start, b.Watermark, b.Loop, b.Balance = 500, 1500, 14, 0.9
	a.keep(gapOf(time.Millisecond), false)
	b.keep(gapOf(3*time.Millisecond), false)
	b.keep(gapOf(20*time.Microsecond), false)
	b.Dropped, b.DroppedTime, b.DroppedMax = 2, 40, 30
	var sum Snapshot
	sum.Merge(&a)
	if sum != a {
		t.Errorf("into nothing: got %+v, want %+v", sum, a)
	}
	sum.Merge(&b)
	if sum.Gaps != 3 || sum.GapTime != 4020*time.Microsecond || sum.Longest.Duration() != 3*time.Millisecond {
		t.Errorf("got %d gaps, %v, longest %v", sum.Gaps, sum.GapTime, sum.Longest.Duration())
	}
	if sum.Observed() != 4000 || sum.Start != 500 || sum.Watermark != 1500 || sum.Loop != 0 || sum.Balance != 0 {
		t.Errorf("observed %v from %d to %d, loop %v, balance %v", sum.Observed(), sum.Start, sum.Watermark, sum.Loop, sum.Balance)
	}
	if got := sum.Histogram[14] + sum.Histogram[19] + sum.Histogram[21]; got != 3 || sum.Counts[4].N != 2 || sum.Causes[0].N != 3 || sum.Covered() != 0.99 {
		t.Errorf("linear %d, of 1 ms %d, of no cause %d, covered %v", got, sum.Counts[4].N, sum.Causes[0].N, sum.Covered())
	}
}
