package otelgc

import (
	"math"
	"testing"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

// TestResolveAnyTimes: windows whose times are not of this world are told like
// the others, with parts that sum to what is left of them.
func TestResolveAnyTimes(t *testing.T) {
	m := startTest(t, WithExactBudget(0))
	now := m.path.now()
	times := []stall.Instant{math.MinInt64, math.MinInt64 / 2, -1, 0, 1, now - 1000, now, math.MaxInt64 / 2, math.MaxInt64}
	m.timeline.Cycle.Add(stall.Interval{Start: now - 500, End: now - 400, Slack: 10, Cause: stall.GCPause, Origin: stall.GCWatch})
	want, got := 0, make(chan stall.Share, len(times)*len(times)*len(times))
	for _, start := range times {
		for _, end := range times {
			for _, other := range times {
				w := stall.Window{Start: start, End: end, Arrival: other, Receipt: other}
				if !entry.Of(m).Resolve(entry.Mark{}, w, func(_ *stall.Window, s *stall.Share) { got <- *s }) {
					t.Fatal("not taken")
				}
				want++
			}
		}
	}
	if err := entry.Of(m).ResolveNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != want {
		t.Fatalf("%d windows are told of, want %d", len(got), want)
	}
	close(got)
	latest := m.path.now().Sub(0)
	for s := range got {
		sum := s.Uncertain + s.App + s.AppOrHost + s.Unseen
		for _, d := range s.Charged {
			sum += d
		}
		if sum != s.Total || s.Total < 0 || s.Total > latest || s.Unseen < 0 {
			t.Errorf("parts of %v sum to %v", s.Total, sum)
		}
	}
}
