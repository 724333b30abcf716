// Package kernel reads records of the kernel, with which measurements are compared: samples
// of a perf event (perf_event_open(2)), and calls of functions of the Go runtime.
package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
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

// Sample opens a software event of the thread tid on cpu, either of which may be -1
// for all, which is sampled once in every period with its time and what else kind
// asks for. The ring has room for so many pages, a power of two.
func Sample(event, period, kind uint64, tid, cpu, pages int) (*Ring, error) {
	return openRing(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: event, Sample: period, Sample_type: unix.PERF_SAMPLE_TIME | kind}, tid, cpu, pages)
}

// Times returns the times of the samples since the last call, in order, and how
// many records the kernel had no room for.
func (r *Ring) Times() (list []stall.Instant, lost uint64) {
	lost = r.Read(func(body []byte) {
		if len(body) >= 8 {
			list = append(list, stall.Instant(binary.LittleEndian.Uint64(body)))
		}
	})
	return list, lost
}

// InterruptEvery is the time between two of the interrupts that Interrupt makes.
const InterruptEvery = time.Millisecond + 37*time.Microsecond

// Interrupt has a timer interrupt cpu until ctx is done or the time has come, and
// returns when the kernel says that it did.
func Interrupt(ctx context.Context, cpu int, until time.Time) (times []stall.Instant, err error) {
	r, err := Sample(unix.PERF_COUNT_SW_CPU_CLOCK, uint64(InterruptEvery), 0, -1, cpu, 256)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for time.Now().Before(until) && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		some, _ := r.Times() // a lost one is one fewer
		times = append(times, some...)
	}
	return times, nil
}

// openRing opens an event. It fills in the size of attr and CLOCK_MONOTONIC as its
// clock.
func openRing(attr *unix.PerfEventAttr, pid, cpu, pages int) (*Ring, error) {
	fd, err := openEvent(attr, pid, cpu)
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

// add opens another event of the same thread and CPU, into the same ring.
func (r *Ring) add(attr *unix.PerfEventAttr, pid, cpu int) error {
	fd, err := openEvent(attr, pid, cpu)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fds[0]); err != nil {
		return errors.Join(fmt.Errorf("direct perf event to ring: %w", err), unix.Close(fd))
	}
	r.fds = append(r.fds, fd)
	return nil
}

func openEvent(attr *unix.PerfEventAttr, pid, cpu int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(unix.PerfEventAttr{}))
	attr.Bits |= unix.PerfBitUseClockID
	attr.Clockid = unix.CLOCK_MONOTONIC
	attr.Wakeup = 1 << 30 // never: Read polls
	fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open: %w", err)
	}
	return fd, nil
}

// Read calls f with the body of each new sample, which f must not keep. It returns
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
