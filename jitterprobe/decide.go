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
//	host.suspended  it could not run, outside of page faults: it was stopped
//	host.fault      it had a page fault, for which it may have waited; what the
//	                fault does not account for is entries into the kernel at most
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
	faulted, stopped := offCPU(a)
	switch {
	case g.owes(a.Preempted, a) && a.Preempted >= max(faulted, stopped):
		g.preempted(a)
	case g.owes(stopped, a) && stopped >= faulted:
		g.stopped(stopped, a)
	case a.Faults == 0 && g.owes(a.Waiting, a): // for a hypervisor that has not got its memory, or a freezer
	case a.Faults > 0 && (g.owes(faulted, a) || d-a.Fault-off <= 2*entryCost && a.Interrupt <= faulted+entryCost):
		g.call(stall.HostFault, faults(faulted, a))
	case !a.CPU:
		g.call(stall.HostIRQOrSteal, Evidence{Witness: Remainder, Time: d - off - a.Fault, Count: int32(a.Switches + a.Faults)})
	default:
		g.interrupted(a)
	}
}

// owes reports whether g is due to what took part of it: that is a good share, and
// what else there is, is less, or what comes along with any switch and fault.
func (g *Gap) owes(part time.Duration, a *kernel.Account) bool {
	d := g.Duration()
	rest := d - a.Preempted - a.Blocked - a.Fault - a.Interrupt
	other := max(rest, a.Interrupt)
	return leastShare*part >= d && (other < stealFrom || other <= part)
}

// offCPU divides the time in which the thread could not run between its page faults
// and what stopped it. It waits for them behind them, too, if a limit on its memory
// says so.
func offCPU(a *kernel.Account) (faulted, stopped time.Duration) {
	faulted, stopped = a.Fault+a.InFault, a.Blocked-a.InFault-a.Waiting
	if a.Faults > 0 {
		faulted += a.Waiting
	}
	return faulted, stopped
}

func (g *Gap) preempted(a *kernel.Account) {
	if a.Idle {
		g.call(stall.HostThrottled, Evidence{Witness: IdleCPU, Time: a.Preempted})
		return
	}
	g.call(stall.HostPreempted, Evidence{Witness: SwitchRecord, Time: a.Preempted, Count: int32(a.Switches), TID: a.Next, Name: a.NextName, Moved: a.Moved})
}

// stopped decides a gap in which the thread could not run for d, and no page fault
// lasted that long. It had one nevertheless, and nobody knows in what state it
// was: then it may have been for that.
func (g *Gap) stopped(d time.Duration, a *kernel.Account) {
	if a.Faults > 0 && !a.States {
		return
	}
	g.call(stall.HostSuspended, Evidence{Witness: StopRecord, Time: d})
	g.Scope = stall.ScopeProcess
}

// interrupted tells interrupts from the hypervisor. All records are complete.
func (g *Gap) interrupted(a *kernel.Account) {
	rest := max(0, g.Duration()-a.Preempted-a.Blocked-a.Fault-a.Interrupt)
	switch {
	case a.Interrupts > 0 && (g.owes(a.Interrupt, a) || rest <= entryCost):
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

func faults(d time.Duration, a *kernel.Account) Evidence {
	e := Evidence{Witness: FaultRecord, Time: d, Count: int32(a.Faults)}
	if a.Major > 0 {
		e.Name = "major"
	}
	return e
}
