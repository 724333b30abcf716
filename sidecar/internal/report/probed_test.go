package report

import (
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
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
