package otelgc

import (
	"fmt"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

// untraceable says why the instants of an execution trace are none of clock, nil
// if they are. A trace has what the runtime reads of CLOCK_MONOTONIC, and where
// clock does not know what lies between the two, exact fidelity would charge
// requests with what happened at another time.
func untraceable(clock stall.Clock) error {
	switch {
	case !clock.Shared():
		return fmt.Errorf("%w on %s: nobody tells how the clock of a trace lies to ours", stall.ErrNotSupported, runtime.GOOS)
	case clock.Namespace() != 0:
		return fmt.Errorf("%w in a time namespace of its own (its monotonic clock is off by %v)", stall.ErrNotSupported, clock.Namespace())
	}
	return nil
}
