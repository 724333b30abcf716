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
	switchedAway
	ended
)

// stateAfter is the state in which each change leaves the goroutine.
var stateAfter = [...]stall.State{
	isRunnable: stall.StateRunnable, isRunning: stall.StateRunning,
	isInSyscall: stall.StateParked, isWaiting: stall.StateParked,
	created: stall.StateRunnable, createdBlocked: stall.StateParked, createdInSyscall: stall.StateParked,
	started: stall.StateRunning, stopped: stall.StateRunnable,
	blocked: stall.StateParked, unblocked: stall.StateRunnable,
	enteredSyscall: stall.StateParked, leftSyscall: stall.StateRunning, leftSyscallBlocked: stall.StateRunnable,
	switchedAway: stall.StateParked, ended: stall.StateUnknown,
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
	g    uint64
	at   ticks
	seq  uint32
	what uint32 // change, and above its 8 bits the string id of a reason
}

const maxReasonID = 1<<24 - 1

// transitionChunk is how many transitions are allocated at once: growing one
// long slice would copy more than it decodes.
const transitionChunk = 1 << 14

// transitions is an append-only list that is never copied, and reused.
type transitions struct {
	chunks [][]transition // all of one length; those in use are full but for the last
	free   [][]transition
	last   []transition // the chunk being filled, not in chunks
}

// len returns the number of transitions.
func (l *transitions) len() int { return len(l.chunks)*transitionChunk + len(l.last) }

// grow makes room for one more.
func (l *transitions) grow() {
	if l.last != nil {
		l.chunks = append(l.chunks, l.last)
	}
	if n := len(l.free); n > 0 {
		l.last, l.free = l.free[n-1][:0], l.free[:n-1]
		return
	}
	l.last = make([]transition, 0, transitionChunk)
}

// reset empties l. It keeps the memory for a generation twice as busy as this
// one, so that one burst is not paid for forever.
func (l *transitions) reset() {
	l.free = append(l.free, l.chunks...)
	if keep := 2*len(l.chunks) + 4; len(l.free) > keep {
		clear(l.free[keep:])
		l.free = l.free[:keep]
	}
	l.chunks = l.chunks[:0]
	l.last = l.last[:0]
}

func (d *decoder) change(g uint64, seq uint32, at ticks, c change, reason uint64) {
	if !d.following || g == 0 {
		return
	}
	l := &d.transitions
	if len(l.last) == cap(l.last) {
		if l.len() >= d.limits.Transitions {
			d.lost.Transitions++
			return
		}
		l.grow()
	}
	if reason > maxReasonID {
		reason = 0
	}
	l.last = append(l.last, transition{g, at, seq, uint32(c) | uint32(reason)<<8})
}
