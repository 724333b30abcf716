package board

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	magic   = "otelgcbd"
	version = 2
)

// Sizes and places of the blocks.
const (
	headerSize = 256
	liveAt     = 512
	liveSize   = 64
	recordsAt  = 4096
	recordSize = 64
	crcSize    = 4
)

// Limits of what a reader believes.
const (
	minSlots     = 16
	maxSlots     = 1 << 20 // 64 MiB
	defaultSlots = 1 << 16 // 4 MiB: a minute and more of a busy machine
	maxCPUs      = 8 * len(header{}.CPUs)
)

// header is the first block, which never changes. It lies in the file as it does
// here, and a checksum follows.
type header struct {
	Magic      [len(magic)]byte
	Version    uint32
	RecordSize uint32
	Slots      uint64
	Generation uint64
	BootID     [36]byte
	PID        int32  // of the writer, in its PID namespace
	Created    uint64 // field 22 of its /proc/PID/stat
	Since      stall.Instant
	Source     stall.Origin
	_          [7]byte
	CPUs       [128]byte // one bit per CPU
	_          [28]byte
}

// live is the second block: how far the writer has come.
type live struct {
	Head        uint64 // records ever written
	Watermark   stall.Instant
	Dropped     uint64
	DroppedTime time.Duration
	Closed      bool
	_           [27]byte
}

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// block returns a header or a live block as it lies in the file.
func block(v any) []byte {
	b, _ := binary.Append(nil, le, v) // a struct of fixed size
	return seal(append(b, 0, 0, 0, 0))
}

// seal writes the checksum of a block into its last four bytes.
func seal(b []byte) []byte {
	n := len(b) - crcSize
	le.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli))
	return b
}

// sealed reports whether a block is whole.
func sealed(b []byte) bool {
	n := len(b) - crcSize
	return le.Uint32(b[n:]) == crc32.Checksum(b[:n], castagnoli)
}

// decodeHeader checks magic and version before the checksum: another file, or a later
// board, is not a broken one.
func decodeHeader(b []byte) (h header, err error) {
	_, _ = binary.Decode(b, le, &h) // b is long enough
	switch {
	case string(h.Magic[:]) != magic:
		err = fmt.Errorf("magic %q at offset 0, want %q", h.Magic, magic)
	case h.Version != version:
		err = fmt.Errorf("version %d at offset 8, this program reads version %d: run the same release of both", h.Version, version)
	case !sealed(b):
		err = fmt.Errorf("checksum of the header at offset 0")
	case h.RecordSize != recordSize:
		err = fmt.Errorf("record size %d at offset 12, want %d", h.RecordSize, recordSize)
	case h.Slots < minSlots || h.Slots > maxSlots || bits.OnesCount64(h.Slots) != 1:
		err = fmt.Errorf("%d records at offset 16, want a power of two within %d and %d", h.Slots, minSlots, maxSlots)
	case h.Source >= stall.NumOrigins || h.Since < 0:
		err = fmt.Errorf("source %d, start %d at offset 80", h.Source, h.Since)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return h, err
}

// encodeRecord writes v as record number i. Records are not encoded by reflection, as
// the other blocks are: there are hundreds of them per second.
func encodeRecord(b []byte, i uint64, v stall.Interval) {
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
	seal(b)
}

// decodeRecord reads the content of a sealed record. An error means that it holds what
// no writer writes.
func decodeRecord(b []byte) (stall.Interval, error) {
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
	return v, check(&v)
}

// Watched reports whether v is no stall, but says that in all of it the process
// that v.Owner names was watched: what no other record of scope target covers
// was left to the program. Such a record has no cause.
func Watched(v *stall.Interval) bool {
	return v.Cause == stall.NoCause && v.Origin == stall.TargetWatch && v.Scope == stall.ScopeTarget && v.Owner.PID != 0
}

// check refuses what is neither a stall of a machine nor the watch of a process.
func check(v *stall.Interval) error {
	switch {
	case !v.Cause.IsHost() && !Watched(v):
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
