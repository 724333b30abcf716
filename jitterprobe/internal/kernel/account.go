package kernel

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Account is where the time of a gap went, as far as the kernel's records say.
// Preempted, Blocked, Fault and Interrupt do not overlap.
type Account struct {
	// Thread and CPU say that no record about the thread, about the CPU, is
	// missing.
	Thread, CPU bool

	Preempted time.Duration // switched out while it could have run
	Blocked   time.Duration // switched out because it could not
	Fault     time.Duration // handling page faults
	Interrupt time.Duration // serving interrupts and softirqs

	// Of Blocked: InFault is within page faults, Stopped outside of them by a
	// signal or a debugger, Waiting outside of them for what no signal ends. The
	// latter two are known if States is set.
	InFault, Stopped, Waiting time.Duration
	States                    bool

	Switches   int
	Faults     int
	Major      int // of the faults, those that needed the disk
	Interrupts int

	// Moved says that the thread ran on on another CPU.
	Moved bool
	// Next is the thread that had the CPU for the longest time of the longest
	// preemption, its id in the initial PID namespace. Zero and empty if it is not
	// known. Idle says that it was none: the CPU was idle.
	Next     int32
	NextName string
	Idle     bool
	// Realtime says that it has real-time priority; Outranked that it has not, and
	// the thread that had to leave the CPU to it had.
	Realtime, Outranked bool
	// Longest is the name of the interrupt that took the most.
	Longest string
}

// Account says where the time of s went. What was read last must reach to its
// end, and nothing of it be forgotten.
func (v *View) Account(s stall.Span) Account {
	a := Account{Thread: v.thread.sees(s)}
	a.CPU = v.cpu.complete(s)
	a.States = v.cpu.sees(s)
	v.parts = v.thread.within(v.parts[:0], s)
	for i := range v.parts {
		a.take(&v.parts[i], v, s.Start)
	}
	if a.Switches > 0 && v.cpu.sees(s) {
		a.name(v, s.Start)
	}
	v.parts = v.cpu.within(v.parts, s)
	a.Interrupts = len(v.parts) - a.Switches - a.Faults
	slices.SortFunc(v.parts, func(x, y span) int { return cmp.Compare(x.Start, y.Start) })
	a.divide(v.parts)
	a.Longest = longest(v.parts)
	return a
}

// take counts a part of the thread's history that lies in a gap from a moment on.
func (a *Account) take(p *span, v *View, from stall.Instant) {
	if p.kind == fault {
		a.Faults++
		if p.name == "major" {
			a.Major++
		}
		return
	}
	a.Switches++
	a.Moved = a.Moved || p.cpu != v.thread.home
	if p.kind != blocked || !a.States {
		return
	}
	t, ok := v.cpu.after(p.Start, from)
	if a.States = ok && v.cpu.state != 0; a.States {
		p.kind = t.why
	}
}

// name takes the thread that had the CPU in the longest preemption of a gap from a moment on.
func (a *Account) name(v *View, from stall.Instant) {
	var out stall.Span
	for _, p := range v.parts {
		if p.kind == preempted && p.Duration() > out.Duration() {
			out = p.Span
		}
	}
	next, d := v.cpu.ran(out)
	if d == 0 {
		return
	}
	a.Next, a.Idle, a.Realtime = next.tid, next.tid == 0, next.realtime
	a.NextName = string(bytes.TrimRight(next.comm[:], "\x00"))
	first, ok := v.cpu.after(out.Start, from)
	a.Outranked = ok && first.fromRealtime && !a.Idle && !a.Realtime
}

// divide gives each nanosecond to one kind.
func (a *Account) divide(parts []span) {
	faulted, out, outOrFault := union(parts, ofFault), union(parts, ofOut), union(parts, ofOut|ofFault)
	a.Preempted = union(parts, 1<<preempted)
	a.Blocked = out - a.Preempted
	a.Fault = outOrFault - out
	a.Interrupt = union(parts, ofAll) - outOrFault
	if a.Blocked == 0 {
		return
	}
	a.InFault = a.Blocked - (union(parts, ofOff|ofFault) - faulted)
	a.Stopped = union(parts, 1<<stopped|ofFault) - faulted
	a.Waiting = union(parts, 1<<waiting|ofFault) - faulted
}

// union returns the time that the spans of some kinds cover together. They are
// sorted by start.
func union(parts []span, of kinds) (sum time.Duration) {
	end := stall.Instant(0)
	for _, p := range parts {
		if !of.has(p.kind) || p.End <= end {
			continue
		}
		sum += p.End.Sub(max(p.Start, end))
		end = p.End
	}
	return sum
}

// longest returns the name of the interrupt that took the most time.
func longest(parts []span) (name string) {
	most := time.Duration(-1)
	for i := range parts {
		if parts[i].kind != interrupt {
			continue
		}
		sum := time.Duration(0)
		for j := i; j < len(parts); j++ { // before i there is none of a name that is new
			if parts[j].kind == interrupt && parts[j].name == parts[i].name {
				sum += parts[j].Duration()
			}
		}
		if sum > most {
			name, most = parts[i].name, sum
		}
		if len(parts) > maxNamed {
			break // a gap full of interrupts: the first stands for all
		}
	}
	return name
}

// maxNamed bounds the interrupts of one gap that are summed by name.
const maxNamed = 64
