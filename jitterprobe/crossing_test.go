package jitterprobe

import (
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
)

func TestGapAcrossADoorOfTheRuntime(t *testing.T) {
	const us = time.Microsecond
	for _, test := range []struct {
		name    string
		account kernel.Account
		stopped bool
		want    bool // the machine's
	}{
		{"no records, no stop", kernel.Account{Interrupt: 90 * us}, false, false},
		{"waited for the world", kernel.Account{Thread: true, Blocked: 95 * us}, true, false},
		{"waited for a P", kernel.Account{Thread: true, Blocked: 30 * us, Preempted: 60 * us}, false, false},
		{"was stopped by a signal", kernel.Account{Thread: true, CPU: true, Blocked: 95 * us, Halted: true}, true, true},
		{"a stop, and nothing on record", kernel.Account{Thread: true, CPU: true}, true, false},
		{"a stop with a short interrupt in it", kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, true, false},
		{"a long interrupt during a stop", kernel.Account{Thread: true, CPU: true, Interrupt: 60 * us, Interrupts: 1}, true, true},
		{"preempted during a stop", kernel.Account{Thread: true, Preempted: 80 * us, Switches: 1}, true, true},
		{"an interrupt, and no stop", kernel.Account{Thread: true, CPU: true, Interrupt: 20 * us, Interrupts: 1}, false, true},
		{"nothing on record, and no stop", kernel.Account{Thread: true, CPU: true}, false, true},
	} {
		g := gapOf(100 * us)
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
