package main

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// ranFrom is how long a hog must not have run to know that it did not.
const ranFrom = 20 * time.Microsecond

// greedy is a hog before all others that have no real-time priority.
func greedy(cpu int, clock stall.Clock, quit <-chan struct{}) ([]stall.Span, error) {
	runtime.LockOSThread()
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -20); err != nil {
		return nil, fmt.Errorf("go before others: %w", err)
	}
	return hog(cpu, clock, quit)
}

// hog runs on cpu and returns when it did, by its own clock.
func hog(cpu int, clock stall.Clock, quit <-chan struct{}) (ran []stall.Span, err error) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pin hog: %w", err)
	}
	from := clock.Now()
	last := from
	for n := 0; ; n++ {
		now := clock.Now()
		if now.Sub(last) >= ranFrom {
			ran = append(ran, stall.Span{Start: from, End: last})
			from = now
		}
		last = now
		if n&1023 == 0 {
			select {
			case <-quit:
				return append(ran, stall.Span{Start: from, End: last}), nil
			default:
			}
		}
	}
}
