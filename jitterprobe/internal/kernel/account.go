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

	Switches   int
	Faults     int
	Major      int // of the faults, those that needed the disk
	Interrupts int

	// Halted says that the CPU's records have the thread stopped by a signal or a
	// debugger.
	Halted bool
	// Moved says that the thread ran on on another CPU.
	Moved bool
	// Next is the thread that had the CPU for the longest time of the longest
	// switch, its id in the initial PID namespace. Zero and empty if it is not
	// known. Idle says that it was none: the CPU was idle.
	Next     int32
	NextName string
	Idle     bool
	// Realtime says that it has real-time priority.
	Realtime bool
	// Longest is the name of the interrupt that took the most.
	Longest string
}

func (v *View) account(s stall.Span) Account {
	a := Account{Thread: v.thread.sees(s)}
	a.CPU = v.cpu.complete(s)
	v.parts = v.thread.within(v.parts[:0], s)
	for _, p := range v.parts {
		switch p.kind {
		case fault:
			a.Faults++
			if p.name == "major" {
				a.Major++
			}
		default:
			a.Switches++
			a.Moved = a.Moved || p.cpu != v.thread.home
			a.Halted = a.Halted || p.kind == blocked && v.cpu.sees(s) && v.cpu.halted(p.Start)
		}
	}
	v.parts = v.cpu.within(v.parts, s)
	a.Interrupts = len(v.parts) - a.Switches - a.Faults
	slices.SortFunc(v.parts, func(x, y span) int { return cmp.Compare(x.Start, y.Start) })
	a.divide(v.parts)
	a.Longest = longest(v.parts)
	if a.Switches > 0 && v.cpu.sees(s) {
		a.name(v)
	}
	return a
}

// name says who had the CPU in the longest switch.
func (a *Account) name(v *View) {
	var out stall.Span
	for _, p := range v.parts {
		if p.kind <= blocked && p.Duration() > out.Duration() {
			out = p.Span
		}
	}
	who, d := v.cpu.ran(out)
	if d == 0 {
		return
	}
	a.Next, a.Idle, a.Realtime = who.tid, who.tid == 0, who.realtime
	a.NextName = string(bytes.TrimRight(who.comm[:], "\x00"))
}

// divide gives each nanosecond to one kind.
func (a *Account) divide(parts []span) {
	var sums [numKinds]time.Duration
	before := time.Duration(0)
	for k := range numKinds {
		all := union(parts, k)
		sums[k], before = all-before, all
	}
	a.Preempted, a.Blocked, a.Fault, a.Interrupt = sums[preempted], sums[blocked], sums[fault], sums[interrupt]
}

// union returns the time that the spans up to kind k cover together. They are
// sorted by start.
func union(parts []span, k kind) (sum time.Duration) {
	end := stall.Instant(0)
	for _, p := range parts {
		if p.kind > k || p.End <= end {
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

// maxNamed bounds the interrupts of one gap that are told apart.
const maxNamed = 64
