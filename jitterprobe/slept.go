package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// sleptFrom is the shortest sleep of the machine, and the shortest gap that is
// asked about one.
const sleptFrom = time.Millisecond

// slept finds the gap in which the machine slept.
type slept struct {
	known time.Duration // CLOCK_BOOTTIME - CLOCK_MONOTONIC at the last look
	ok    bool
}

func newSlept() slept {
	d, ok := kernel.Slept()
	return slept{d, ok}
}

// settle gives host.suspended to the longest gap if the machine slept since the
// last long one. CLOCK_MONOTONIC stands still meanwhile, so the gap is as long
// as what came before and after.
func (s *slept) settle(gaps []Gap) {
	longest := -1
	for i := range gaps {
		if d := gaps[i].Duration(); !gaps[i].Runtime && d >= sleptFrom && (longest < 0 || d > gaps[longest].Duration()) {
			longest = i
		}
	}
	if longest < 0 || !s.ok {
		return
	}
	now, ok := kernel.Slept()
	if !ok {
		return
	}
	if d := now - s.known; d >= sleptFrom {
		g := &gaps[longest]
		g.Cause, g.Scope, g.Evidence = stall.HostSuspended, stall.ScopeMachine, Evidence{Witness: BootClock, Time: d}
	}
	s.known = now
}
