package hostwatch

import (
	"encoding/binary"

	"github.com/otelgc/otelgc/stall"
)

// kind says what happened to a thread.
type kind uint32

const (
	woken  kind = iota // was put among those that wait for a CPU
	in                 // got a CPU
	out                // lost it
	waking             // is to be put there, which may be for another CPU to do
)

// States of a thread that loses its CPU (include/linux/sched.h). Zero is ready
// to run.
const (
	uninterruptible = 0x02
	held            = 0x04 | 0x08 | 0x8000 // stopped, traced, frozen
	dead            = 0x80
)

// event is one event of the scheduler. The program in the kernel writes it in
// the machine's byte order: time, thread, state, kind.
type event struct {
	at    stall.Instant
	tid   int32
	state uint32 // of a thread that goes out
	kind  kind
}

const eventSize = 24

// decodeEvent reports false for what the program does not write.
func decodeEvent(b []byte) (event, bool) {
	if len(b) != eventSize {
		return event{}, false
	}
	ne := binary.NativeEndian
	e := event{
		at:    stall.Instant(ne.Uint64(b)),
		tid:   int32(ne.Uint32(b[8:])),
		state: ne.Uint32(b[12:]),
		kind:  kind(ne.Uint32(b[16:])),
	}
	return e, e.kind <= waking && e.at > 0 && e.tid > 0
}
