package verb

import (
	"slices"
	"testing"

	"github.com/otelgc/otelgc/internal/recording"
)

// TestHostFacts: a target whose threads were only counted was not denied nothing.
func TestHostFacts(t *testing.T) {
	for _, followed := range []bool{true, false} {
		facts := hostFacts(recording.Host{PID: 7, Followed: followed})
		for _, key := range []any{"denied", "paged", "undecided", "covered", "dropped"} {
			if got := slices.Contains(facts, key); got != followed {
				t.Errorf("followed: %v: %s is said: %v, want %v", followed, key, got, followed)
			}
		}
		for _, key := range []any{"pid", "followed", "run_delay", "major_faults", "stolen", "machine_waited"} {
			if !slices.Contains(facts, key) {
				t.Errorf("followed: %v: %s is not said", followed, key)
			}
		}
	}
}
