package exact

import (
	"errors"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestTraceOfAnotherClock: where instants are good within the process alone, as
// on any system but Linux, a trace cannot be joined with them.
func TestTraceOfAnotherClock(t *testing.T) {
	if err := Untraceable(stall.Clock{}); !errors.Is(err, stall.ErrNotSupported) {
		t.Errorf("a clock of this process alone: got %v, want %v", err, stall.ErrNotSupported)
	}
	if c := testClock(t); c.Shared() && c.Namespace() == 0 {
		if err := Untraceable(c); err != nil {
			t.Errorf("the clock of this machine: got %v", err)
		}
	}
}
