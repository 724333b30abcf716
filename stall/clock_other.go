//go:build !linux

package stall

import "time"

// begin is one nanosecond before the first Instant of this process: the same for
// all its clocks, and never changed.
var begin = time.Now()

// newClock counts from the start of this process: good within it, and never the
// zero Instant.
func newClock() (Clock, error) {
	return Clock{base: begin, offset: 1}, nil
}
