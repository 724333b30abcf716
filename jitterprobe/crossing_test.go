package jitterprobe

import (
	"cmp"
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
)

func TestGapAcrossADoorOfTheRuntime(t *testing.T) {
	const us = time.Microsecond
	for _, test := range []struct {
		name    string
		length  time.Duration // 0 is 100 us
		account kernel.Account
		stopped bool
		want    bool // the machine's
	}{
		{"no records, no stop", 0, kernel.Account{Interrupt: 90 * us}, false, false},
		{"waited for the world", 0, kernel.Account{Thread: true, Blocked: 95 * us}, true, false},
		{"waited for a P", 0, kernel.Account{Thread: true, Blocked: 30 * us, Preempted: 60 * us}, false, false},
		{"was stopped by a signal", 0, kernel.Account{Thread: true, CPU: true, Blocked: 95 * us, Halted: true}, true, true},
		{"a stop, and nothing on record", 0, kernel.Account{Thread: true, CPU: true}, true, false},
		{"a stop with a short interrupt in it", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, true, false},
		{"a long interrupt during a stop", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 60 * us, Interrupts: 1}, true, true},
		{"preempted during a stop", 0, kernel.Account{Thread: true, Preempted: 80 * us, Switches: 1}, true, true},
		{"an interrupt, and no stop", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, false, true},
		{"nothing on record, and no stop", 0, kernel.Account{Thread: true, CPU: true}, false, true},
		{"nothing on record, no stop, and no longer than it takes to find a P", 30 * us, kernel.Account{Thread: true, CPU: true}, false, false},
		{"the same, without the rights to see interrupts", 30 * us, kernel.Account{Thread: true}, false, false},
		{"waited for a P for just under a fifth", 20 * us, kernel.Account{Thread: true, Blocked: 3 * us, Switches: 1}, false, false},
		{"and was woken by an interrupt", 20 * us, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1, Interrupt: us, Interrupts: 1}, false, false},
		{"worked for long, of which it waited", 110 * us, kernel.Account{Thread: true, Blocked: 20 * us, Switches: 1}, false, false},
		{"waited for a moment of a long steal", time.Millisecond, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1}, false, true},
		{"was stopped for just under a fifth", 20 * us, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1, Halted: true}, false, true},
		{"preempted for a moment, and no stop", 20 * us, kernel.Account{Thread: true, Preempted: 3 * us, Switches: 1}, false, true},
		{"a short interrupt, and no stop", 30 * us, kernel.Account{Thread: true, CPU: true, Interrupt: 5 * us, Interrupts: 1}, false, true},
	} {
		g := gapOf(cmp.Or(test.length, 100*us))
		if got := g.isMachines(&test.account, test.stopped); got != test.want {
			t.Errorf("%s: the machine's: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestStopsOfTheWorldAreCounted(t *testing.T) {
	s := newStops()
	var mem runtime.MemStats
	for name, stop := range map[string]func(){"collection": runtime.GC, "other stop": func() { runtime.ReadMemStats(&mem) }} {
		s.since()
		stop()
		if !s.since() {
			t.Errorf("%s: not counted", name)
		}
	}
}
