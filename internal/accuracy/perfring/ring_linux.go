package perfring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring holds the records of one event, or of several. It is for one goroutine.
type Ring struct {
	fds     []int // the first one owns the memory
	mem     []byte
	head    *unix.PerfEventMmapPage
	data    []byte
	scratch []byte // of a record that goes over the end
}

// headerSize is that of struct perf_event_header.
const headerSize = 8

// Open opens an event of the thread pid on cpu, either of which may be -1 for
// all, with room for so many pages of records, a power of two. It fills in the
// size of attr and CLOCK_MONOTONIC as its clock.
func Open(attr *unix.PerfEventAttr, pid, cpu, pages int) (*Ring, error) {
	fd, err := open(attr, pid, cpu)
	if err != nil {
		return nil, err
	}
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map ring: %w", err), unix.Close(fd))
	}
	return &Ring{fds: []int{fd}, mem: mem, head: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), data: mem[page:]}, nil
}

// Add opens another event of the same thread and CPU, into the same ring.
func (r *Ring) Add(attr *unix.PerfEventAttr, pid, cpu int) error {
	fd, err := open(attr, pid, cpu)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fds[0]); err != nil {
		return errors.Join(fmt.Errorf("direct perf event to ring: %w", err), unix.Close(fd))
	}
	r.fds = append(r.fds, fd)
	return nil
}

func open(attr *unix.PerfEventAttr, pid, cpu int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(unix.PerfEventAttr{}))
	attr.Bits |= unix.PerfBitUseClockID
	attr.Clockid = unix.CLOCK_MONOTONIC
	attr.Wakeup = 1 << 30 // nobody waits for it
	fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open: %w", err)
	}
	return fd, nil
}

// Read hands the body of each new sample to f, which must not keep it. It returns
// how many records the kernel had no room for since the last call.
func (r *Ring) Read(f func(body []byte)) (lost uint64) {
	le := binary.LittleEndian
	end, at := atomic.LoadUint64(&r.head.Data_head), r.head.Data_tail
	for end-at >= headerSize {
		head := r.data[at%uint64(len(r.data)):]
		kind, size := le.Uint32(head), uint64(le.Uint16(head[6:]))
		if size < headerSize || size > end-at {
			break // no kernel writes such a record
		}
		body := r.record(at, size)[headerSize:]
		switch {
		case kind == unix.PERF_RECORD_SAMPLE:
			f(body)
		case kind == unix.PERF_RECORD_LOST && len(body) >= 16:
			lost += le.Uint64(body[8:])
		}
		at += size
	}
	atomic.StoreUint64(&r.head.Data_tail, end)
	return lost
}

// record returns the record at a place of the stream, in one piece.
func (r *Ring) record(at, size uint64) []byte {
	from := at % uint64(len(r.data))
	if from+size <= uint64(len(r.data)) {
		return r.data[from : from+size]
	}
	r.scratch = append(append(r.scratch[:0], r.data[from:]...), r.data[:from+size-uint64(len(r.data))]...)
	return r.scratch
}

// Close ends the events.
func (r *Ring) Close() error {
	err := unix.Munmap(r.mem)
	for _, fd := range r.fds {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}
