package report

import (
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// TestProbeThatBeganLater: what was before a probe it did not observe.
func TestProbeThatBeganLater(t *testing.T) {
	list := experiment(10_000)
	p := spinner()
	p.At = after.Add(4 * time.Second)
	list[2] = p
	list = slices.DeleteFunc(list, func(r recording.Record) bool {
		s, is := r.(recording.Status)
		return is && s.At <= after
	})
	if got, want := readExperiment(t, list, Options{Warmup: warmup}).Experiment.Probes[0].Gaps.Observed, 6*time.Second; got != want {
		t.Errorf("observed for %v, want %v", got, want)
	}
}

// TestGapsNotCompared: a document says of how many long gaps nothing is known.
func TestGapsNotCompared(t *testing.T) {
	c := newGaps(0)
	c.long = make([]longGap, maxLong)
	for range 3 {
		c.add(&jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 1 + stall.Instant(time.Millisecond)}})
	}
	c.settle(nil, stall.Span{}, false)
	if c.Long != maxLong || c.NotCompared != 3 {
		t.Errorf("%d long gaps and %d that were not compared, want %d and 3", c.Long, c.NotCompared, maxLong)
	}
}
