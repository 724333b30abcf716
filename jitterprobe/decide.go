package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// leastShare is the part of a gap that its cause accounts for at least. What
// comes before the switch and after it, the interrupt and the scheduler, was up
// to four fifths of a preempted gap.
const leastShare = 5

// entryCost bounds what an interrupt costs beside what its tracepoints enclose:
// the entry into the kernel and the return, under a hypervisor with exits from
// the virtual machine.
const entryCost = 25 * time.Microsecond

// stealFrom is the shortest stretch that interrupts leave unexplained and that
// is called the hypervisor's nevertheless.
const stealFrom = 100 * time.Microsecond

// decide gives g the first cause whose rule its account meets:
//
//	host.throttled  it could run, and its CPU was idle
//	host.preempted  it could run, and another thread did, for longer than what follows
//	host.fault      it had a page fault, for which it may have waited; what the
//	                fault does not account for is entries into the kernel at most
//	host.suspended  it could not run, without a page fault: it was stopped
//	host.irq        its CPU served interrupts for a good part of the gap
//	host.steal      and not at all, or for next to nothing of it
//
// What follows on a gap that took the thread off its CPU, without a look in between,
// is that one's (see behind).
//
// Where the records that a rule needs are not complete, it does not apply.
func (g *Gap) decide(a *kernel.Account) {
	if !a.Thread {
		return
	}
	d := g.Duration()
	off := a.Preempted + a.Blocked
	switch {
	case a.Idle && leastShare*a.Preempted >= d:
		g.call(stall.HostThrottled, Evidence{Witness: IdleCPU, Time: a.Preempted})
	case leastShare*a.Preempted >= d && a.Preempted >= a.Blocked+a.Fault:
		g.call(stall.HostPreempted, Evidence{Witness: SwitchRecord, Time: a.Preempted, Count: int32(a.Switches), TID: a.Next, Name: a.NextName, Moved: a.Moved})
	case a.Faults > 0 && (leastShare*(a.Fault+a.Blocked) >= d || d-a.Fault-off <= 2*entryCost):
		g.call(stall.HostFault, faults(a))
	case a.Faults == 0 && leastShare*a.Blocked >= d:
		g.call(stall.HostSuspended, Evidence{Witness: StopRecord, Time: a.Blocked})
		g.Scope = stall.ScopeProcess
	case !a.CPU:
		g.call(stall.HostIRQOrSteal, Evidence{Witness: Remainder, Time: d - off - a.Fault, Count: int32(a.Switches + a.Faults)})
	default:
		g.interrupted(a)
	}
}

// interrupted tells interrupts from the hypervisor. All records are complete.
func (g *Gap) interrupted(a *kernel.Account) {
	d := g.Duration()
	rest := max(0, d-a.Preempted-a.Blocked-a.Fault-a.Interrupt)
	switch {
	case a.Interrupts > 0 && (leastShare*a.Interrupt >= d || rest <= entryCost):
		g.call(stall.HostIRQ, Evidence{Witness: Tracepoint, Time: a.Interrupt, Count: int32(a.Interrupts), Name: a.Longest})
	case a.Interrupts+a.Switches+a.Faults == 0, rest >= stealFrom:
		g.call(stall.HostSteal, Evidence{Witness: Silence, Time: rest})
	default:
		g.call(stall.HostIRQOrSteal, Evidence{Witness: Silence, Time: rest})
	}
}

func (g *Gap) call(c stall.Cause, e Evidence) {
	g.Cause, g.Evidence, g.Scope = c, e, stall.ScopeCPU
}

func faults(a *kernel.Account) Evidence {
	e := Evidence{Witness: FaultRecord, Time: a.Fault + a.Blocked, Count: int32(a.Faults)}
	if a.Major > 0 {
		e.Name = "major"
	}
	return e
}
