package blame

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.AllowUnexported(gc.Maybe[time.Duration]{})

func TestBands(t *testing.T) {
	tests := []struct {
		n    int
		want [NumBands]int
	}{
		{1, [NumBands]int{Slowest: 1}},
		{2, [NumBands]int{ToP50: 1, Slowest: 1}},
		{10, [NumBands]int{ToP50: 5, P50ToP90: 4, Slowest: 1}},
		{1000, [NumBands]int{ToP50: 500, P50ToP90: 400, P90ToP99: 90, AboveP99: 9, Slowest: 1}},
		{10_000, [NumBands]int{ToP50: 5000, P50ToP90: 4000, P90ToP99: 900, P99ToP999: 90, AboveP999: 9, Slowest: 1}},
	}
	for _, tt := range tests {
		var got [NumBands]int
		for i := range tt.n {
			got[bandOf(i, tt.n)]++
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("bands of %d requests (-want +got):\n%s", tt.n, diff)
		}
	}
}

func TestPercentilesHaveTheNearestRank(t *testing.T) {
	at := func(rank int) time.Duration { return time.Duration(rank + 1) }
	want := Latency{P50: 5_000, P90: 9_000, P99: 9_900, P999: gc.Known(9_990 * time.Nanosecond), Max: 10_000}
	if diff := cmp.Diff(want, percentiles(10_000, at), compareMaybe); diff != "" {
		t.Errorf("percentiles of 10,000 (-want +got):\n%s", diff)
	}
	want = Latency{P50: 5_000, P90: 9_000, P99: 9_900, Max: 9_999}
	if diff := cmp.Diff(want, percentiles(9_999, at), compareMaybe); diff != "" {
		t.Errorf("percentiles of 9,999 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Latency{}, percentiles(0, nil), compareMaybe); diff != "" {
		t.Errorf("percentiles of none (-want +got):\n%s", diff)
	}
}
