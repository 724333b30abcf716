package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// unknown returns a gap that nobody has explained yet.
func unknown(d time.Duration) Gap {
	g := gapOf(d)
	g.Cause, g.Scope = stall.HostUnknown, stall.ScopeCPU
	return g
}

func TestDecide(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, test := range []struct {
		name     string
		length   time.Duration
		account  kernel.Account
		cause    stall.Cause
		scope    stall.Scope
		evidence string
	}{
		{"no rights", ms, kernel.Account{}, stall.HostUnknown, stall.ScopeCPU, ""},
		{"records of the thread lost", ms, kernel.Account{CPU: true, Preempted: ms, Switches: 1}, stall.HostUnknown, stall.ScopeCPU, ""},
		{"preempted", ms, kernel.Account{Thread: true, Preempted: 950 * us, Switches: 1}, stall.HostPreempted, stall.ScopeCPU, "preempted for 950µs"},
		{"by whom", 60 * us, kernel.Account{Thread: true, CPU: true, Preempted: 13 * us, Interrupt: 20 * us, Switches: 1, Next: 17, NextName: "kworker/3:0"}, stall.HostPreempted, stall.ScopeCPU, "preempted by kworker/3:0 (thread 17) for 13µs"},
		{"and moved", ms, kernel.Account{Thread: true, Preempted: 900 * us, Switches: 1, Next: 17, Moved: true}, stall.HostPreempted, stall.ScopeCPU, "preempted by thread 17 for 900µs, and moved to another CPU"},
		{"by an idle CPU", 50 * ms, kernel.Account{Thread: true, CPU: true, Preempted: 49 * ms, Switches: 1, Idle: true}, stall.HostThrottled, stall.ScopeCPU, "ready to run while its CPU was idle for 49ms"},
		{"faults", 20 * us, kernel.Account{Thread: true, CPU: true, Fault: 5 * us, Interrupt: 6 * us, Interrupts: 1, Faults: 2}, stall.HostFault, stall.ScopeCPU, "2 page faults in 5µs"},
		{"a fault that waited", 9 * ms, kernel.Account{Thread: true, Fault: 20 * us, Blocked: 8 * ms, InFault: 8 * ms, Switches: 1, Faults: 1, Major: 1}, stall.HostFault, stall.ScopeCPU, "1 major page fault in 8.02ms"},
		{"a short one that came with an interrupt", 25 * us, kernel.Account{Thread: true, CPU: true, Fault: 4 * us, Interrupt: 3 * us, Interrupts: 1, Faults: 1}, stall.HostFault, stall.ScopeCPU, "1 page fault in 4µs"},
		{"stopped while it was preempted", 30 * ms, kernel.Account{Thread: true, Preempted: 9 * ms, Blocked: 20 * ms, Switches: 2}, stall.HostSuspended, stall.ScopeProcess, "stopped for 20ms by a signal, a debugger or a freezer"},
		{"stopped", 30 * ms, kernel.Account{Thread: true, CPU: true, Blocked: 29 * ms, Switches: 1}, stall.HostSuspended, stall.ScopeProcess, "stopped for 29ms by a signal, a debugger or a freezer"},
		{"stopped, and had a fault", 60 * ms, kernel.Account{Thread: true, CPU: true, States: true, Fault: 4 * us, Blocked: 59 * ms, Stopped: 59 * ms, Switches: 1, Faults: 1}, stall.HostSuspended, stall.ScopeProcess, "stopped for 59ms by a signal, a debugger or a freezer"},
		{"stopped or waiting behind a fault, nobody knows", 60 * ms, kernel.Account{Thread: true, Fault: 4 * us, Blocked: 59 * ms, Switches: 1, Faults: 1}, stall.HostUnknown, stall.ScopeCPU, ""},
		{"held up behind a fault", 60 * ms, kernel.Account{Thread: true, CPU: true, States: true, Fault: 4 * us, Blocked: 59 * ms, Waiting: 59 * ms, Switches: 1, Faults: 1}, stall.HostFault, stall.ScopeCPU, "1 page fault in 59.004ms"},
		{"waited without a fault for what no signal ends", ms, kernel.Account{Thread: true, CPU: true, States: true, Blocked: 900 * us, Waiting: 900 * us, Switches: 1}, stall.HostUnknown, stall.ScopeCPU, ""},
		{"preempted, then stopped, its CPU idle", 30 * ms, kernel.Account{Thread: true, CPU: true, States: true, Preempted: 9 * ms, Blocked: 20 * ms, Stopped: 20 * ms, Switches: 2, Idle: true}, stall.HostSuspended, stall.ScopeProcess, "stopped for 20ms by a signal, a debugger or a freezer"},
		{"a preemption in a long steal", 3 * ms, kernel.Account{Thread: true, CPU: true, Preempted: 700 * us, Switches: 1}, stall.HostSteal, stall.ScopeCPU, "the kernel did nothing for 2.3ms"},
		{"in what may be one", 3 * ms, kernel.Account{Thread: true, Preempted: 700 * us, Switches: 1}, stall.HostIRQOrSteal, stall.ScopeCPU, "not switched out and no page fault for 2.3ms of it"},
		{"interrupts in a long steal", 3 * ms, kernel.Account{Thread: true, CPU: true, Interrupt: 700 * us, Interrupts: 9}, stall.HostSteal, stall.ScopeCPU, "the kernel did nothing for 2.3ms"},
		{"a preemption among long interrupts", ms, kernel.Account{Thread: true, CPU: true, Preempted: 250 * us, Switches: 1, Interrupt: 700 * us, Interrupts: 9, Longest: "softirq NET_RX"}, stall.HostIRQ, stall.ScopeCPU, "9 interrupts in 700µs, most of it softirq NET_RX"},
		{"a short fault in long interrupts", 80 * us, kernel.Account{Thread: true, CPU: true, Fault: 3 * us, Faults: 1, Interrupt: 60 * us, Interrupts: 1, Longest: "local_timer"}, stall.HostIRQ, stall.ScopeCPU, "1 interrupt in 60µs, most of it local_timer"},
		{"in one of which little is left", 45 * us, kernel.Account{Thread: true, CPU: true, Fault: 3 * us, Faults: 1, Interrupt: 38 * us, Interrupts: 1, Longest: "local_timer"}, stall.HostIRQ, stall.ScopeCPU, "1 interrupt in 38µs, most of it local_timer"},
		{"neither switched nor faulted", 40 * us, kernel.Account{Thread: true}, stall.HostIRQOrSteal, stall.ScopeCPU, "not switched out, no page fault"},
		{"a switch that explains too little", 3 * ms, kernel.Account{Thread: true, Preempted: 30 * us, Switches: 1}, stall.HostIRQOrSteal, stall.ScopeCPU, "not switched out and no page fault for 2.97ms of it"},
		{"the tick", 36 * us, kernel.Account{Thread: true, CPU: true, Interrupt: 16 * us, Interrupts: 1, Longest: "local_timer"}, stall.HostIRQ, stall.ScopeCPU, "1 interrupt in 16µs, most of it local_timer"},
		{"a short one, most of it entry", 15 * us, kernel.Account{Thread: true, CPU: true, Interrupt: us, Interrupts: 1, Longest: "reschedule"}, stall.HostIRQ, stall.ScopeCPU, "1 interrupt in 1µs, most of it reschedule"},
		{"nothing at all", 40 * us, kernel.Account{Thread: true, CPU: true}, stall.HostSteal, stall.ScopeCPU, "the kernel did nothing for 40µs"},
		{"the tick that was due when the machine was given back", 3 * ms, kernel.Account{Thread: true, CPU: true, Interrupt: 16 * us, Interrupts: 1}, stall.HostSteal, stall.ScopeCPU, "the kernel did nothing for 2.984ms"},
		{"in between", 80 * us, kernel.Account{Thread: true, CPU: true, Interrupt: 4 * us, Interrupts: 1}, stall.HostIRQOrSteal, stall.ScopeCPU, "the kernel did nothing for 76µs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := unknown(test.length)
			g.decide(&test.account)
			if g.Cause != test.cause || g.Scope != test.scope || g.Evidence.String() != test.evidence {
				t.Errorf("got %v, %v, %q; want %v, %v, %q", g.Cause, g.Scope, g.Evidence, test.cause, test.scope, test.evidence)
			}
		})
	}
}

func TestEveryWitnessSpeaks(t *testing.T) {
	for w := range NumWitnesses {
		if text := (Evidence{Witness: w, Count: 1}).String(); (text == "") != (w == NoWitness) {
			t.Errorf("witness %d says %q", w, text)
		}
		if w.String() == "" {
			t.Errorf("witness %d has no name", w)
		}
	}
}
