package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// A virtual machine cannot be put to sleep from inside, and the clocks of a process
// keep their distance for its life: that they have moved apart is pretended.
func TestSleptIsTheLongestGap(t *testing.T) {
	s := newSlept()
	if !s.ok {
		t.Skip("the clocks cannot be read together")
	}
	const ms = time.Millisecond
	gaps := []Gap{unknown(2 * ms), unknown(20 * ms), unknown(3 * ms)}
	s.settle(gaps)
	for i, g := range gaps {
		if g.Cause != stall.HostUnknown {
			t.Errorf("awake, gap %d: got %v", i, g.Cause)
		}
	}
	s.known -= time.Hour // the machine slept meanwhile
	s.settle(gaps)
	if g := gaps[1]; g.Cause != stall.HostSuspended || g.Scope != stall.ScopeMachine || g.Evidence.Witness != BootClock {
		t.Errorf("slept: got %+v", g)
	}
	if gaps[0].Cause != stall.HostUnknown || gaps[2].Cause != stall.HostUnknown {
		t.Errorf("the others: got %v, %v", gaps[0].Cause, gaps[2].Cause)
	}
	again := []Gap{unknown(20 * ms)}
	if s.settle(again); again[0].Cause != stall.HostUnknown {
		t.Errorf("awake again: got %v", again[0].Cause)
	}
}
