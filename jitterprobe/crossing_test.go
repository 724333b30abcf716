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
		want    side
	}{
		{"no records, no stop", 0, kernel.Account{Interrupt: 90 * us}, false, ofEither},
		{"no records, a stop", 0, kernel.Account{}, true, ofRuntime},
		{"no records, no longer than it takes to find a P", 30 * us, kernel.Account{}, false, ofRuntime},
		{"waited for the world", 0, kernel.Account{Thread: true, Blocked: 95 * us}, true, ofRuntime},
		{"waited for a P", 0, kernel.Account{Thread: true, States: true, Blocked: 30 * us, Preempted: 60 * us}, false, ofRuntime},
		{"waited for the runtime or was stopped", 0, kernel.Account{Thread: true, Blocked: 95 * us}, false, ofEither},
		{"no longer than it takes to find a P", 30 * us, kernel.Account{Thread: true, Blocked: 25 * us}, false, ofRuntime},
		{"was stopped by a signal", 0, kernel.Account{Thread: true, CPU: true, Blocked: 95 * us, Stopped: 94 * us}, true, ofMachine},
		{"and waited for the runtime for longer", 0, kernel.Account{Thread: true, CPU: true, Blocked: 95 * us, Stopped: 40 * us}, true, ofRuntime},
		{"waited for its memory", 0, kernel.Account{Thread: true, Blocked: 95 * us, InFault: 95 * us, Faults: 1}, true, ofMachine},
		{"waited as nobody waits for the runtime", 0, kernel.Account{Thread: true, Blocked: 95 * us, Waiting: 95 * us, States: true}, true, ofMachine},
		{"a stop, and nothing on record", 0, kernel.Account{Thread: true, CPU: true}, true, ofRuntime},
		{"a stop with a short interrupt in it", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, true, ofRuntime},
		{"a long interrupt during a stop", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 60 * us, Interrupts: 1}, true, ofMachine},
		{"preempted during a stop", 0, kernel.Account{Thread: true, Preempted: 80 * us, Switches: 1}, true, ofMachine},
		{"an interrupt, and no stop", 0, kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, false, ofMachine},
		{"nothing on record, and no stop", 0, kernel.Account{Thread: true, CPU: true}, false, ofMachine},
		{"nothing on record, no stop, and no longer than it takes to find a P", 30 * us, kernel.Account{Thread: true, CPU: true}, false, ofRuntime},
		{"the same, without the rights to see interrupts", 30 * us, kernel.Account{Thread: true}, false, ofRuntime},
		{"waited for a P for just under a fifth", 20 * us, kernel.Account{Thread: true, Blocked: 3 * us, Switches: 1}, false, ofRuntime},
		{"and was woken by an interrupt", 20 * us, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1, Interrupt: us, Interrupts: 1}, false, ofRuntime},
		{"worked for long, of which it waited", 110 * us, kernel.Account{Thread: true, States: true, Blocked: 20 * us, Switches: 1}, false, ofRuntime},
		{"waited for a moment of a long steal", time.Millisecond, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1}, false, ofMachine},
		{"was stopped for just under a fifth", 20 * us, kernel.Account{Thread: true, CPU: true, Blocked: 3 * us, Switches: 1, Stopped: 3 * us}, false, ofMachine},
		{"preempted for a moment, and no stop", 20 * us, kernel.Account{Thread: true, Preempted: 3 * us, Switches: 1}, false, ofMachine},
		{"a short interrupt, and no stop", 30 * us, kernel.Account{Thread: true, CPU: true, Interrupt: 5 * us, Interrupts: 1}, false, ofMachine},
	} {
		g := gapOf(cmp.Or(test.length, 100*us))
		if got := g.side(&test.account, test.stopped); got != test.want {
			t.Errorf("%s: got side %v, want %v", test.name, got, test.want)
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
