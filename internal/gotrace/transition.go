package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// change is what an event did to a goroutine.
type change uint8

const (
	isRunnable change = iota // EvGoStatus: so it has been since the generation began
	isRunning
	isInSyscall
	isWaiting
	created
	createdBlocked
	createdInSyscall
	started
	stopped
	blocked
	unblocked
	enteredSyscall
	leftSyscall
	leftSyscallBlocked
	switchedAway // to a coroutine; the next transition is that one's
	switchedTo
	ended
	endedSwitching // the next transition is that of the coroutine that goes on
)

// stateAfter is the state in which each change leaves the goroutine.
var stateAfter = [...]stall.State{
	isRunnable: stall.StateRunnable, isRunning: stall.StateRunning,
	isInSyscall: stall.StateParked, isWaiting: stall.StateParked,
	created: stall.StateRunnable, createdBlocked: stall.StateParked, createdInSyscall: stall.StateParked,
	started: stall.StateRunning, stopped: stall.StateRunnable,
	blocked: stall.StateParked, unblocked: stall.StateRunnable,
	enteredSyscall: stall.StateParked, leftSyscall: stall.StateRunning, leftSyscallBlocked: stall.StateRunnable,
	switchedAway: stall.StateParked, switchedTo: stall.StateRunning,
	ended: stall.StateUnknown, endedSwitching: stall.StateUnknown,
}

func (c change) isStatus() bool { return c <= isWaiting }

func (c change) inSyscall() bool {
	return c == isInSyscall || c == enteredSyscall || c == createdInSyscall
}

// transition is one change of one goroutine. Within a generation the changes
// of a goroutine are in the order of (seq, arrival): changes that can happen on
// another thread carry the next sequence number, all others happen on the
// thread that the last numbered one bound the goroutine to.
type transition struct {
	g    uint64 // the picker leaves its index of the goroutine
	at   ticks
	seq  uint32
	what uint32 // change, and above it a detail of a switch or of a wait
}

// How a transition is packed. The runtime registers its reasons first, so that
// their ids are small.
const (
	changeBits = 5
	reasonBits = 8
	maxReason  = 1<<reasonBits - 1
	maxDetail  = 1<<(32-changeBits) - 1
	maxStack   = maxDetail >> reasonBits
)

// waitDetail packs the string id of a reason and the id of a stack. Zero is one
// that is not known.
func waitDetail(reason, stack uint64) uint64 {
	if reason > maxReason {
		reason = 0
	}
	if stack > maxStack {
		stack = 0
	}
	return reason | stack<<reasonBits
}

// wait notes why the goroutine of a thread leaves it. It is not inlined, to keep
// the loop that calls it short.
//
//go:noinline
func (d *decoder) wait(t *thread, at ticks, c change, reason, stack uint64) {
	d.change(t.g, t.seq, at, c, waitDetail(reason, stack))
}

func (t *transition) change() change { return change(t.what & (1<<changeBits - 1)) }

func (t *transition) detail() uint64 { return uint64(t.what >> changeBits) }

func (t *transition) reason() uint64 { return t.detail() & maxReason }

func (t *transition) stack() uint64 { return t.detail() >> reasonBits }

// transitionChunk is how many transitions are allocated at once: growing one
// long slice would copy more than it decodes.
const (
	transitionChunkBits = 14
	transitionChunk     = 1 << transitionChunkBits
)

// transitions is an append-only list that is never copied, and reused.
type transitions struct {
	chunks []*[transitionChunk]transition // the last one is being filled
	last   []transition                   // what is filled of it
	free   []*[transitionChunk]transition
}

// len returns the number of transitions.
func (l *transitions) len() int {
	return max(len(l.chunks)-1, 0)*transitionChunk + len(l.last)
}

// at returns transition i. It stays where it is until the list is reset.
func (l *transitions) at(i uint32) *transition {
	return &l.chunks[i>>transitionChunkBits][i%transitionChunk]
}

// grow makes room for one more.
func (l *transitions) grow() {
	var chunk *[transitionChunk]transition
	if n := len(l.free); n > 0 {
		chunk, l.free = l.free[n-1], l.free[:n-1]
	} else {
		chunk = new([transitionChunk]transition)
	}
	l.chunks = append(l.chunks, chunk)
	l.last = chunk[:0:transitionChunk]
}

// each calls f with the transitions, chunk by chunk.
func (l *transitions) each(f func([]transition)) {
	for i, chunk := range l.chunks {
		if i == len(l.chunks)-1 {
			f(l.last)
			return
		}
		f(chunk[:])
	}
}

// cut keeps the first n.
func (l *transitions) cut(n int) {
	used := (n + transitionChunk - 1) >> transitionChunkBits
	l.free = append(l.free, l.chunks[used:]...)
	l.chunks, l.last = l.chunks[:used], nil
	if used > 0 {
		l.last = l.chunks[used-1][:n-(used-1)*transitionChunk]
	}
}

// reset empties l. It keeps the memory for a generation twice as busy as this
// one, so that one burst is not paid for forever.
func (l *transitions) reset() {
	keep := 2*len(l.chunks) + 4
	if l.cut(0); len(l.free) > keep {
		clear(l.free[keep:])
		l.free = l.free[:keep]
	}
}

func (d *decoder) change(g uint64, seq uint32, at ticks, c change, detail uint64) {
	if !d.tracking || g == 0 {
		return
	}
	l := &d.transitions
	if len(l.last) == cap(l.last) && !d.makeRoom() {
		d.lost.Transitions++
		return
	}
	l.last = append(l.last, transition{g, at, seq, uint32(c) | uint32(detail)<<changeBits})
}

// makeRoom has room for one more transition, if the limit allows for it.
func (d *decoder) makeRoom() bool {
	l := &d.transitions
	if d.lost.Transitions > 0 {
		return false // there will be no Tracks
	}
	if l.len() >= d.limits.Transitions {
		d.thin()
		if 2*l.len() > d.limits.Transitions {
			return false
		}
	}
	if len(l.last) == cap(l.last) {
		l.grow()
	}
	return true
}

// goroutine follows which goroutine each thread runs, and notes the changes.
func (d *decoder) goroutine(t *thread, typ eventType, at ticks, a [4]uint64) {
	switch typ {
	case evGoStart:
		d.bind(t, at, a[0], uint32(a[1]))
		d.change(t.g, t.seq, at, started, 0)
	case evGoBlock:
		d.leave(t, at, blocked, waitDetail(a[0], a[1]))
	case evGoUnblock:
		d.change(a[0], uint32(a[1]), at, unblocked, 0)
	case evGoStop:
		d.leave(t, at, stopped, waitDetail(a[0], a[1]))
	case evGoSyscallBegin:
		d.change(t.g, t.seq, at, enteredSyscall, 0)
	case evGoSyscallEnd:
		d.change(t.g, t.seq, at, leftSyscall, 0)
	case evGoSyscallEndBlocked:
		d.leave(t, at, leftSyscallBlocked, 0)
	case evGoStatus, evGoStatusStack:
		d.status(t, at, a)
	case evGoCreate:
		d.change(a[0], 0, at, created, 0)
	case evGoCreateBlocked:
		d.change(a[0], 0, at, createdBlocked, 0)
	case evGoCreateSyscall:
		d.callbacks = true
		d.bind(t, at, a[0], 0)
		d.change(t.g, 0, at, createdInSyscall, 0)
	case evGoDestroy, evGoDestroySyscall:
		d.leave(t, at, ended, 0)
	case evGoSwitch:
		d.switchTo(t, at, switchedAway, a)
	case evGoSwitchDestroy:
		d.switchTo(t, at, endedSwitching, a)
	}
}

// bind puts a goroutine on a thread. If another is still there, its leaving was
// not seen.
func (d *decoder) bind(t *thread, at ticks, g uint64, seq uint32) {
	if t.g != 0 {
		d.release(t, at)
	}
	t.g, t.seq, t.since = g, seq, at
}

// leave takes the goroutine off its thread.
func (d *decoder) leave(t *thread, at ticks, c change, detail uint64) {
	d.change(t.g, t.seq, at, c, detail)
	d.release(t, at)
}

// release ends what a goroutine did on its thread.
func (d *decoder) release(t *thread, at ticks) {
	if t.worker.open || t.assist.open {
		d.endOnThread(t, at)
	}
	t.g = 0
}

func (d *decoder) endOnThread(t *thread, at ticks) {
	if t.worker.open {
		d.workerEnd(t, at)
	}
	d.assistLeaves(t)
}

// switchTo hands the thread from one coroutine to another.
func (d *decoder) switchTo(t *thread, at ticks, c change, a [4]uint64) {
	d.switches = d.switches%maxDetail + 1
	d.leave(t, at, c, d.switches)
	d.bind(t, at, a[0], uint32(a[1]))
	d.change(t.g, t.seq, at, switchedTo, d.switches)
}

// statusChange is the change for each tracev2.GoStatus, GoBad left out.
var statusChange = [...]change{1: isRunnable, 2: isRunning, 3: isInSyscall, 4: isWaiting}

func (d *decoder) status(t *thread, at ticks, a [4]uint64) {
	d.statuses++
	if a[2] == 0 || a[2] >= uint64(len(statusChange)) {
		return
	}
	c := statusChange[a[2]]
	d.change(a[0], 0, at, c, 0)
	if t.id != noThread && (c == isRunning || c == isInSyscall && a[1] == t.id) {
		if t.g == a[0] {
			t.seq = 0
			return // it has been there since the generation before
		}
		d.bind(t, at, a[0], 0)
	}
}

// reasonSyscall is the Reason of a goroutine in a system call.
const reasonSyscall = "syscall"

// gcWaits are the block reasons that belong to the collector
// (runtime/traceruntime.go, traceBlockReasonStrings). "GC background sweeper
// wait" is not one: it is the idle sweeper waiting for work.
var gcWaits = [...]string{"GC mark assist wait for work", "wait until GC ends", "GC weak to strong wait"}

// The block reasons of a goroutine that ran and that the runtime parked
// (runtime/proc.go, preemptPark, and runtime/debugcall.go). The first is that of
// goroutines whose stack is to be looked at: by the collector, which scans it in
// the midst of a collection, or by the tracer, or by a debugger.
const (
	reasonPreempted = "preempted"
	reasonDebugCall = "wait for debug call"
)

// parkedFor reports whether a goroutine was parked from an instant on for the collector,
// or held by the runtime for an unknown reason.
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

// reasonSync is the block reason of a wait for a lock or a semaphore.
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
