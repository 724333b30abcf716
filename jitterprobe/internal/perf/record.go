package perf

import (
	"encoding/binary"
	"fmt"

	"github.com/otelgc/otelgc/stall"
)

// Kind says what a record is about.
type Kind uint8

const (
	Other  Kind = iota // nothing of interest
	Switch             // a thread left the CPU, or got it
	Sample             // an event of its own happened, see Record.Event
	Loss               // records were lost for want of room
)

// Record is one record of a ring. It is overwritten by the next.
type Record struct {
	Kind Kind
	At   stall.Instant // zero if the record is too short to have a time
	TID  int32         // the thread that it is about
	CPU  int32

	// Of a Switch.
	Out       bool // TID left the CPU, else it got it
	Preempted bool // and could have run on

	// Of a Sample.
	Event uint64 // as Ring.Add returned it
	Raw   []byte // fields of a tracepoint

	// Of a Loss.
	Lost uint64
}

// Types of records and bits of their misc field, <linux/perf_event.h>.
const (
	typeLost        = 2
	typeThrottle    = 5
	typeUnthrottle  = 6
	typeSample      = 9
	typeLostSamples = 13
	typeSwitch      = 14

	miscSwitchOut        = 1 << 13
	miscSwitchOutPreempt = 1 << 14
)

const (
	headerSize = 8
	// trailerSize is that of the sample_id of records that are no samples: pid
	// and tid, time, CPU, identifier, 8 bytes each.
	trailerSize = 32
	// sampleSize is that of a sample without raw data: header, identifier, pid
	// and tid, time, CPU.
	sampleSize = headerSize + 32
)

// decode decodes one whole record into r. Those that are not known are no
// error: a later kernel may have them.
func (r *Record) decode(b []byte) error {
	*r = Record{}
	if len(b) < headerSize {
		return fmt.Errorf("record of %d bytes, a header has %d", len(b), headerSize)
	}
	le := binary.LittleEndian
	kind, misc := le.Uint32(b), le.Uint16(b[4:])
	if kind == typeSample {
		return r.decodeSample(b)
	}
	if len(b) >= headerSize+trailerSize {
		t := b[len(b)-trailerSize:]
		r.TID, r.At, r.CPU = int32(le.Uint32(t[4:])), stall.Instant(le.Uint64(t[8:])), int32(le.Uint32(t[16:]))
	}
	body := b[headerSize:max(headerSize, len(b)-trailerSize)]
	switch kind {
	case typeLost:
		if len(body) < 16 {
			return fmt.Errorf("record of lost records has %d bytes", len(b))
		}
		r.Kind, r.Lost = Loss, le.Uint64(body[8:])
	case typeLostSamples, typeThrottle, typeUnthrottle:
		r.Kind, r.Lost = Loss, 1
	case typeSwitch:
		if r.At == 0 {
			return fmt.Errorf("record of a switch has %d bytes", len(b))
		}
		r.Kind = Switch
		r.Out, r.Preempted = misc&miscSwitchOut != 0, misc&miscSwitchOutPreempt != 0
	}
	return nil
}

func (r *Record) decodeSample(b []byte) error {
	if len(b) < sampleSize {
		return fmt.Errorf("sample of %d bytes, want %d or more", len(b), sampleSize)
	}
	le := binary.LittleEndian
	r.Kind, r.Event, r.TID = Sample, le.Uint64(b[8:]), int32(le.Uint32(b[20:]))
	r.At, r.CPU = stall.Instant(le.Uint64(b[24:])), int32(le.Uint32(b[32:]))
	if rest := b[sampleSize:]; len(rest) >= 4 {
		n := le.Uint32(rest)
		if uint64(n) > uint64(len(rest)-4) {
			return fmt.Errorf("sample of %d bytes with %d bytes of raw data", len(b), n)
		}
		r.Raw = rest[4 : 4+n]
	}
	return nil
}
