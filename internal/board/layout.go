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
	bootIDSize = 36
	cpuBytes   = 128 // one bit per CPU
)

// Limits of what a reader believes.
const (
	MinSlots     = 16
	MaxSlots     = 1 << 20 // 64 MiB
	DefaultSlots = 1 << 16 // 4 MiB: a minute and more of a busy machine
	MaxCPUs      = cpuBytes * 8
)

// header is the first block: what stays as it is.
type header struct {
	slots      uint64
	generation uint64
	bootID     string
	pid        int32
	created    uint64
	since      stall.Instant
	source     stall.Origin
	cpus       []int
}

// live is the second block: how far the writer has come.
type live struct {
	head        uint64 // records ever written
	watermark   stall.Instant
	dropped     uint64
	droppedTime time.Duration
	closed      bool
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal writes the checksum of a block into its last four bytes.
func seal(b []byte) []byte {
	n := len(b) - crcSize
	binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli))
	return b
}

// sealed reports whether a block is whole.
func sealed(b []byte) bool {
	n := len(b) - crcSize
	return binary.LittleEndian.Uint32(b[n:]) == crc32.Checksum(b[:n], castagnoli)
}

func (h *header) encode() []byte {
	b, le := make([]byte, headerSize), binary.LittleEndian
	copy(b, magic)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], recordSize)
	le.PutUint64(b[16:], h.slots)
	le.PutUint64(b[24:], h.generation)
	copy(b[32:32+bootIDSize], h.bootID)
	le.PutUint32(b[68:], uint32(h.pid))
	le.PutUint64(b[72:], h.created)
	le.PutUint64(b[80:], uint64(h.since))
	b[88] = byte(h.source)
	for _, cpu := range h.cpus {
		b[96+cpu/8] |= 1 << (cpu % 8)
	}
	return seal(b)
}

// decodeHeader checks magic and version before the checksum: a file that is
// something else should be called that, not a broken board.
func decodeHeader(b []byte) (header, error) {
	le := binary.LittleEndian
	if string(b[:8]) != magic {
		return header{}, fmt.Errorf("%w: magic %q at offset 0, want %q", ErrForeign, b[:8], magic)
	}
	if v := le.Uint32(b[8:]); v != version {
		return header{}, fmt.Errorf("%w: version %d at offset 8, this program reads version %d: run the same release of both", ErrForeign, v, version)
	}
	if !sealed(b) {
		return header{}, fmt.Errorf("%w: checksum of the header at offset 0", ErrForeign)
	}
	if n := le.Uint32(b[12:]); n != recordSize {
		return header{}, fmt.Errorf("%w: record size %d at offset 12, want %d", ErrForeign, n, recordSize)
	}
	h := header{
		slots:      le.Uint64(b[16:]),
		generation: le.Uint64(b[24:]),
		bootID:     string(b[32 : 32+bootIDSize]),
		pid:        int32(le.Uint32(b[68:])),
		created:    le.Uint64(b[72:]),
		since:      stall.Instant(le.Uint64(b[80:])),
		source:     stall.Origin(b[88]),
	}
	if h.slots < MinSlots || h.slots > MaxSlots || bits.OnesCount64(h.slots) != 1 {
		return header{}, fmt.Errorf("%w: %d records at offset 16, want a power of two within %d and %d", ErrForeign, h.slots, MinSlots, MaxSlots)
	}
	if h.source >= stall.NumOrigins || h.since < 0 {
		return header{}, fmt.Errorf("%w: source %d, start %d at offset 80", ErrForeign, h.source, h.since)
	}
	for cpu := range MaxCPUs {
		if b[96+cpu/8]&(1<<(cpu%8)) != 0 {
			h.cpus = append(h.cpus, cpu)
		}
	}
	return h, nil
}

func (l *live) encode() []byte {
	b, le := make([]byte, liveSize), binary.LittleEndian
	le.PutUint64(b[0:], l.head)
	le.PutUint64(b[8:], uint64(l.watermark))
	le.PutUint64(b[16:], l.dropped)
	le.PutUint64(b[24:], uint64(l.droppedTime))
	if l.closed {
		b[32] = 1
	}
	return seal(b)
}

// decodeLive reports false for a block that is being written.
func decodeLive(b []byte) (l live, ok bool) {
	if !sealed(b) {
		return live{}, false
	}
	le := binary.LittleEndian
	return live{
		head:        le.Uint64(b[0:]),
		watermark:   stall.Instant(le.Uint64(b[8:])),
		dropped:     le.Uint64(b[16:]),
		droppedTime: time.Duration(le.Uint64(b[24:])),
		closed:      b[32] != 0,
	}, true
}
