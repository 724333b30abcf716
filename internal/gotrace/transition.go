package gotrace

import "github.com/otelgc/otelgc/stall"

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
