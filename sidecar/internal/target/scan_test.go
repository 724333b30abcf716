package target

import (
	"testing"
	"time"
)

// TestUntilNext: looks that take long come less often, and come.
func TestUntilNext(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: scanEvery, scanEvery / lookShare: scanEvery, scanEvery / 2: lookShare * scanEvery / 2, time.Hour: longestRest,
	} {
		if got := untilNext(took); got != want {
			t.Errorf("after one of %v: got %v, want %v", took, got, want)
		}
	}
}
