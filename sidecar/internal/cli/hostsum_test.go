package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestHostFacts: a target whose threads were only counted was not held up for no
// time, and what did not happen is not said.
func TestHostFacts(t *testing.T) {
	for _, followed := range []bool{true, false} {
		facts := hostFacts(recording.Host{PID: 7, Followed: followed})
		for _, key := range []any{"held_up", "paging", "not_decided"} {
			if got := slices.Contains(facts, key); got != followed {
				t.Errorf("followed: %v: %s is said: %v, want %v", followed, key, got, followed)
			}
		}
		if slices.Contains(facts, any("run_delay_of_all_threads")) == followed {
			t.Errorf("followed: %v: %v", followed, facts)
		}
		rare := []any{"throttled", "stolen_from_all_cpus", "major_faults", "switches_dropped"}
		for _, key := range rare {
			if slices.Contains(facts, key) {
				t.Errorf("followed: %v: %s is said, and there was none", followed, key)
			}
		}
		all := hostFacts(recording.Host{PID: 7, Followed: followed, Totals: hostcount.Totals{Throttled: gc.Known(time.Second), Stolen: time.Second, MajorFaults: 1, Dropped: 1}})
		for _, key := range rare {
			if !slices.Contains(all, key) {
				t.Errorf("followed: %v: %s is not said", followed, key)
			}
		}
		if len(all) > 2*12 {
			t.Errorf("%d facts in one line", len(all)/2)
		}
	}
}
