package jitterprobe

import (
	"runtime/metrics"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// A probe of mode Runtime leaves the Go runtime and comes back to it once in
// 2 us. A gap across either door is the runtime's: a goroutine that leaves while
// the world is being stopped hands its P over and wakes who waits for it, and
// one that comes back waits for the world to start. Without any stop, too: sysmon
// takes the P of a goroutine that has made nothing but system calls for 10 ms,
// thousands of times a second, and the goroutine looks for another one. But the
// machine does not look at which instruction it takes the CPU away, and some of
// its gaps are across a door by chance.

// stops counts the stops of this process's world.
type stops struct {
	samples [2]metrics.Sample
	counted uint64
}

func newStops() *stops {
	s := &stops{samples: [2]metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/pauses/total/other:seconds"}}}
	s.since()
	return s
}

// since reports whether the world was stopped since the last call. It does not
// rule it out where the runtime does not count.
func (s *stops) since() bool {
	metrics.Read(s.samples[:])
	var n uint64
	for i := range s.samples {
		if s.samples[i].Value.Kind() != metrics.KindFloat64Histogram {
			return true
		}
		for _, c := range s.samples[i].Value.Float64Histogram().Counts {
			n += c
		}
	}
	before := s.counted
	s.counted = n
	return n != before
}

// acquit takes the gaps off the runtime that the machine made, or that may be
// either's.
func (j *judge) acquit(gaps []Gap) {
	if !j.runtime {
		return
	}
	stopped := j.stops.since()
	for i := range gaps {
		g := &gaps[i]
		if !g.Runtime {
			continue
		}
		a := j.account(g)
		switch g.side(&a, stopped) {
		case ofMachine:
			g.Runtime, g.Evidence = false, Evidence{}
			g.Cause, g.Scope = stall.HostUnknown, stall.ScopeCPU
		case ofEither:
			g.Runtime = false
			g.Cause, g.Scope = stall.HostUnknown, stall.ScopeCPU
		}
	}
}

// side is whose a gap across a door of the runtime is.
type side uint8

const (
	ofRuntime side = iota
	ofMachine
	ofEither
)

// side says whose a gap across a door of the runtime is. A thread that gave up its
// CPU of its own accord waited for the runtime, if it is not known to have been
// stopped, or to have waited as no thread waits for the runtime. Else the gap is the
// machine's if what the kernel recorded takes up half of it. Of what is left, a stop
// of the world may have had to do with anything; without one, the runtime does
// nothing for long without giving up the CPU, and nothing that the kernel records,
// unless it does give it up: then the wake-up is on record, too.
//
// Where it is not on record whether the thread gave up its CPU, or in what state it
// was, a long gap may be either's, if there was no stop of the world.
func (g *Gap) side(a *kernel.Account, stopped bool) side {
	d, machines := g.Duration(), a.Stopped+a.Waiting+a.InFault
	gave := a.Blocked > 0 && leastShare*a.Blocked >= d
	switch {
	case gave && 2*machines >= a.Blocked:
		return ofMachine
	case (!a.Thread || gave && !a.States) && !stopped && d >= stealFrom:
		return ofEither
	case !a.Thread || gave:
		return ofRuntime
	case 2*(a.Preempted+a.Fault+a.Interrupt) >= d:
		return ofMachine
	}
	byItself := a.Blocked > machines
	if !stopped && (d-a.Blocked >= stealFrom || !byItself && a.Switches+a.Faults+a.Interrupts > 0) {
		return ofMachine
	}
	return ofRuntime
}
