package perf

import (
	"encoding/binary"
	"fmt"

	"github.com/otelgc/otelgc/stall"
)

// Kind says what a record tells.
type Kind uint8

const (
	Other  Kind = iota // nothing of interest
	Switch             // a thread left the CPU, or got it
	Sample             // an event of its own happened, see Record.Event
	Loss               // records were lost for want of room
)

// Record is one record of a ring.
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
	Raw   []byte // fields of a tracepoint; overwritten by the next record

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

// decode decodes one whole record. Those that are not known are no error: a
// later kernel may have them.
func decode(b []byte) (Record, error) {
	if len(b) < headerSize {
		return Record{}, fmt.Errorf("record of %d bytes, a header has %d", len(b), headerSize)
	}
	le := binary.LittleEndian
	kind, misc := le.Uint32(b), le.Uint16(b[4:])
	if kind == typeSample {
		return decodeSample(b)
	}
	var r Record
	if len(b) >= headerSize+trailerSize {
		t := b[len(b)-trailerSize:]
		r.TID, r.At, r.CPU = int32(le.Uint32(t[4:])), stall.Instant(le.Uint64(t[8:])), int32(le.Uint32(t[16:]))
	}
	body := b[headerSize:max(headerSize, len(b)-trailerSize)]
	switch kind {
	case typeLost:
		if len(body) < 16 {
			return r, fmt.Errorf("record of lost records has %d bytes", len(b))
		}
		r.Kind, r.Lost = Loss, le.Uint64(body[8:])
	case typeLostSamples, typeThrottle, typeUnthrottle:
		r.Kind, r.Lost = Loss, 1
	case typeSwitch:
		if r.At == 0 {
			return r, fmt.Errorf("record of a switch has %d bytes", len(b))
		}
		r.Kind = Switch
		r.Out, r.Preempted = misc&miscSwitchOut != 0, misc&miscSwitchOutPreempt != 0
	}
	return r, nil
}

func decodeSample(b []byte) (Record, error) {
	if len(b) < sampleSize {
		return Record{}, fmt.Errorf("sample of %d bytes, want %d or more", len(b), sampleSize)
	}
	le := binary.LittleEndian
	r := Record{
		Kind: Sample, Event: le.Uint64(b[8:]), TID: int32(le.Uint32(b[20:])),
		At: stall.Instant(le.Uint64(b[24:])), CPU: int32(le.Uint32(b[32:])),
	}
	if rest := b[sampleSize:]; len(rest) >= 4 {
		n := le.Uint32(rest)
		if uint64(n) > uint64(len(rest)-4) {
			return r, fmt.Errorf("sample of %d bytes with %d bytes of raw data", len(b), n)
		}
		r.Raw = rest[4 : 4+n]
	}
	return r, nil
}
