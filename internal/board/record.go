package board

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// encodeRecord writes v as record number i.
func encodeRecord(b []byte, i uint64, v stall.Interval) []byte {
	le := binary.LittleEndian
	clear(b)
	le.PutUint64(b[0:], i+1) // a slot never written holds 0
	le.PutUint64(b[8:], uint64(v.Start))
	le.PutUint64(b[16:], uint64(v.End))
	le.PutUint64(b[24:], uint64(v.Slack))
	b[32], b[33], b[34] = byte(v.Cause), byte(v.Origin), byte(v.Scope)
	le.PutUint32(b[36:], uint32(v.CPU))
	le.PutUint64(b[40:], v.Owner.Cgroup)
	le.PutUint64(b[48:], v.Owner.Created)
	le.PutUint32(b[56:], uint32(v.Owner.PID))
	return seal(b)
}

// recordState says what was found in a slot.
type recordState int

const (
	recordThere recordState = iota
	recordTorn              // being written, or damaged
	recordOther             // whole, and another record's: the ring went round
)

// decodeRecord reads record number i. An error means that a whole record holds
// what no writer writes.
func decodeRecord(b []byte, i uint64) (stall.Interval, recordState, error) {
	le := binary.LittleEndian
	if !sealed(b) {
		return stall.Interval{}, recordTorn, nil
	}
	if le.Uint64(b) != i+1 {
		return stall.Interval{}, recordOther, nil
	}
	v := stall.Interval{
		Start:  stall.Instant(le.Uint64(b[8:])),
		End:    stall.Instant(le.Uint64(b[16:])),
		Slack:  time.Duration(le.Uint64(b[24:])),
		Cause:  stall.Cause(b[32]),
		Origin: stall.Origin(b[33]),
		Scope:  stall.Scope(b[34]),
		CPU:    int32(le.Uint32(b[36:])),
		Owner: stall.Owner{
			Cgroup:  le.Uint64(b[40:]),
			Created: le.Uint64(b[48:]),
			PID:     int32(le.Uint32(b[56:])),
		},
	}
	if err := check(v); err != nil {
		return stall.Interval{}, recordThere, err
	}
	return v, recordThere, nil
}

// Watched reports whether v is no stall, but says that in all of it the process
// that v.Owner names was watched: what no other record of scope target covers
// was left to the program. Such a record has no cause.
func Watched(v *stall.Interval) bool {
	return v.Cause == stall.NoCause && v.Origin == stall.TargetWatch && v.Scope == stall.ScopeTarget && v.Owner.PID != 0
}

// check refuses what is neither a stall of a machine nor the watch of a process.
func check(v stall.Interval) error {
	switch {
	case !v.Cause.IsHost() && !Watched(&v):
		return fmt.Errorf("cause %v is not of the machine", v.Cause)
	case v.Origin == stall.NoOrigin || v.Origin >= stall.NumOrigins:
		return fmt.Errorf("source %d is not known", v.Origin)
	case v.Scope == stall.ScopeProcess || v.Scope >= stall.NumScopes:
		return fmt.Errorf("scope %v is not of the machine", v.Scope)
	case v.Start <= 0 || v.End < v.Start || v.Slack < 0:
		return fmt.Errorf("interval from %d to %d, slack %d", v.Start, v.End, v.Slack)
	}
	return nil
}
