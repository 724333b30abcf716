package perf

import (
	"encoding/binary"
	"sync/atomic"
)

// area is the part of a mapped ring that holds the records.
type area struct {
	head, tail *uint64 // bytes ever written by the kernel, ever read by us
	data       []byte  // a power of two long
	scratch    []byte  // for a record that wraps
	one        Record  // that is being read
}

// nearlyFull is how little room makes it likely that records are being lost: the
// kernel reports lost records only with the next one that fits.
const nearlyFull = 1 << 10

// Read hands what is new to f, in the order it was written, which is that of
// time but for what interrupted the writing of another. It reports whether the
// ring was so full that the newest records may be missing, or held what is no
// record.
func (a *area) Read(f func(*Record)) (missing bool) {
	head, tail := atomic.LoadUint64(a.head), atomic.LoadUint64(a.tail)
	size := uint64(len(a.data))
	if head-tail > size {
		missing, tail = true, head // impossible but for a kernel that overwrites
	}
	missing = missing || head-tail > size-nearlyFull
	for tail < head {
		b, n := a.record(tail, head)
		if n == 0 {
			missing, tail = true, head
			break
		}
		tail += n
		if a.one.decode(b) != nil {
			missing = true
			continue
		}
		f(&a.one)
	}
	atomic.StoreUint64(a.tail, tail)
	return missing
}

// record returns the record at tail and its size, 0 if there can be none of it.
func (a *area) record(tail, head uint64) ([]byte, uint64) {
	mask := uint64(len(a.data) - 1)
	at := tail & mask
	// Records are multiples of 8 bytes: a header never wraps.
	if head-tail < headerSize || at&7 != 0 {
		return nil, 0
	}
	n := uint64(binary.LittleEndian.Uint16(a.data[at+6:]))
	if n < headerSize || n&7 != 0 || n > head-tail {
		return nil, 0
	}
	if at+n <= uint64(len(a.data)) {
		return a.data[at : at+n], n
	}
	a.scratch = append(a.scratch[:0], a.data[at:]...)
	a.scratch = append(a.scratch, a.data[:at+n-uint64(len(a.data))]...)
	return a.scratch, n
}
