package truth

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

func TestLongestStop(t *testing.T) {
	bounds := []float64{0, 1e-3, 2e-3, 4e-3, math.Inf(1)}
	before := metrics.Float64Histogram{Counts: []uint64{5, 0, 7, 0}, Buckets: bounds}
	for _, c := range []struct {
		name   string
		counts []uint64
		want   time.Duration
	}{
		{"none", []uint64{5, 0, 7, 0}, 0},
		{"short ones", []uint64{9, 1, 7, 0}, 2 * time.Millisecond},
		{"one as long as others before", []uint64{9, 1, 8, 0}, 4 * time.Millisecond},
		{"one beyond the buckets", []uint64{5, 0, 7, 1}, math.MaxInt64},
	} {
		if got := longestStop(before, metrics.Float64Histogram{Counts: c.counts, Buckets: bounds}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestStopsAreCounted: the runtime counts a stop, and the others are none.
func TestStopsAreCounted(t *testing.T) {
	before := harness.Stopping()
	runtime.GC()
	if got := longestStop(before, harness.Stopping()); got <= 0 {
		t.Errorf("longest stop of a collection: %v, want more than 0", got)
	}
}

// TestSlowToStop: a hash that would still go on, by its rate, but did not keep
// the world from being stopped, is not logged.
func TestSlowToStop(t *testing.T) {
	b := newBench(t)
	b.memory, b.hashed = make([]byte, 1<<20), (1<<20)/float64(time.Hour)
	if got := b.slowToStop(time.Hour, runtime.GC); got != (stall.Span{}) {
		t.Errorf("logged a stop of %v", got.Duration())
	}
}

func newBench(t *testing.T) *bench {
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	return &bench{class: &class{}, m: m}
}
