package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// reasonSyscall is the Reason of a goroutine in a system call.
const reasonSyscall = "syscall"

// gcWaits are the block reasons that belong to the collector
// (runtime/traceruntime.go, traceBlockReasonStrings). "GC background sweeper
// wait" is not one: it is the idle sweeper waiting for work.
var gcWaits = [...]string{"GC mark assist wait for work", "wait until GC ends", "GC weak to strong wait"}

// The block reasons of a goroutine that ran and that the runtime parked
// (runtime/proc.go, preemptPark, and runtime/debugcall.go). The first is that of
// everybody whose stack is to be looked at: by the collector, which scans it in
// the midst of a collection, or by the tracer, or by a debugger.
const (
	reasonPreempted = "preempted"
	reasonDebugCall = "wait for debug call"
)

// parkedFor says for whom a goroutine was parked from an instant on.
func (d *decoder) parkedFor(reason string, from stall.Instant) (gcWait, held bool) {
	switch {
	case slices.Contains(gcWaits[:], reason):
		return true, false
	case reason == reasonPreempted && d.collecting(from):
		return true, false
	}
	return false, reason == reasonPreempted || reason == reasonDebugCall
}

// collecting reports whether a collection was under way.
func (d *decoder) collecting(at stall.Instant) bool {
	i, _ := slices.BinarySearchFunc(d.collections, at, func(c stall.Span, at stall.Instant) int { return cmp.Compare(c.End, at+1) })
	return i < len(d.collections) && d.collections[i].Start <= at
}

// noteCollections keeps when there was a collection under way. Where some of
// their ends are lost, it is not known.
func (d *decoder) noteCollections(g *Generation) {
	d.collections = d.collections[:0]
	if d.lost.Cycles > 0 {
		return
	}
	note := func(c *Cycle, end stall.Instant) {
		begin := c.Begin
		if c.BeginUnknown {
			begin = g.Start
		}
		d.collections = append(d.collections, stall.Span{Start: begin, End: end})
	}
	for i := range g.Cycles {
		if c := &g.Cycles[i]; !c.Partial {
			note(c, c.End)
		}
	}
	if d.cycle.open {
		note(&d.cycle.Cycle, g.End+1)
	}
}

// reasonSync is the block reason of who waits for a lock or a semaphore.
const reasonSync = "sync"

// collectors are the functions that wait with reasonSync while others begin a
// collection, or until one is over: an allocation over the heap's trigger and
// runtime.GC in the first, runtime.GOMAXPROCS in the second.
var collectors = [...]string{"runtime.gcStart", "runtime.stopTheWorldGC"}

// waitsToCollect reports whether one of the collectors is in a stack.
func (d *decoder) waitsToCollect(stack uint64) bool {
	is, known := d.collects[stack]
	if !known {
		is = d.calls(stack, collectors[:])
		d.collects[stack] = is
	}
	return is
}
