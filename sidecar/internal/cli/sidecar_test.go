package cli

import (
	"testing"
	"time"
)

// TestFlushWithinTheLimit: what ending the probe takes is not added to what a
// Collector that is dead may take, since whoever sends SIGTERM waits for both.
func TestFlushWithinTheLimit(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{
		0:                       stopLimit,
		1500 * time.Millisecond: stopLimit - 1500*time.Millisecond,
		stopLimit:               flushAtLeast,
		time.Minute:             flushAtLeast,
	} {
		if got := flushFor(spent); got != want {
			t.Errorf("after %v: %v for the exports, want %v", spent, got, want)
		}
	}
}
