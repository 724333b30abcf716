package perf

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is an open ring with its events. It is for one goroutine.
type Ring struct {
	area
	mem    []byte
	base   unix.PerfEventAttr
	tid    int
	cpu    int
	events []int // file descriptors; the first one owns the ring
}

// Software events, <linux/perf_event.h>.
const (
	Faults      = unix.PERF_COUNT_SW_PAGE_FAULTS     // a page fault begins
	MinorFaults = unix.PERF_COUNT_SW_PAGE_FAULTS_MIN // ends, and needed no disk
	MajorFaults = unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ // ends, and needed one
)

// OpenThread opens a ring that holds each context switch of a thread of this
// process, wherever it runs. It needs no rights where perf_event_paranoid is 2
// or less, unless a seccomp profile forbids perf_event_open.
func OpenThread(tid, pages int) (*Ring, error) {
	return open(tid, -1, pages, unix.PerfBitContextSwitch)
}

// OpenCPU opens a ring for tracepoints on a CPU. It needs CAP_PERFMON.
func OpenCPU(cpu, pages int) (*Ring, error) { return open(-1, cpu, pages, 0) }

func open(tid, cpu, pages int, first uint64) (*Ring, error) {
	r := &Ring{tid: tid, cpu: cpu}
	r.base = unix.PerfEventAttr{
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
		Bits:        unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Clockid:     unix.CLOCK_MONOTONIC,
		Wakeup:      1 << 30, // it is not waited for
	}
	if tid >= 0 { // what the thread does in the kernel takes more rights
		r.base.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	a := r.base
	a.Type, a.Config = unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_DUMMY
	a.Bits |= first
	fd, err := unix.PerfEventOpen(&a, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	r.events = []int{fd}
	page := os.Getpagesize()
	r.mem, err = asMany(pages, func(pages int) ([]byte, error) {
		return unix.Mmap(fd, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map ring of %d pages: %w (kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK bound them)", pages, err), r.Close())
	}
	head := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	r.area = area{head: &head.Data_head, tail: &head.Data_tail, data: r.mem[page:]}
	return r, nil
}

// leastPages is the smallest ring that is of use.
const leastPages = 8

// asMany maps a ring of as many pages as wanted, a power of two, or of half as
// many, and so on: all processes of a user share a limit on locked memory.
// A smaller ring overflows sooner, and reports that.
func asMany(pages int, mapped func(pages int) ([]byte, error)) (mem []byte, err error) {
	for ; pages >= leastPages; pages /= 2 {
		if mem, err = mapped(pages); !errors.Is(err, unix.EPERM) {
			break
		}
	}
	return mem, err
}

// AddSoftware adds one of the software events to the ring, and returns what
// Record.Event has for it.
func (r *Ring) AddSoftware(event uint64) (id uint64, err error) {
	a := r.base
	a.Type, a.Config, a.Sample = unix.PERF_TYPE_SOFTWARE, event, 1
	return r.add(&a)
}

// AddTracepoint adds the tracepoint with the number that tracefs gives it.
func (r *Ring) AddTracepoint(number uint64) (id uint64, err error) {
	a := r.base
	a.Type, a.Config, a.Sample = unix.PERF_TYPE_TRACEPOINT, number, 1
	a.Sample_type |= unix.PERF_SAMPLE_RAW
	return r.add(&a)
}

func (r *Ring) add(a *unix.PerfEventAttr) (id uint64, err error) {
	fd, err := unix.PerfEventOpen(a, r.tid, r.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("perf_event_open: %w", err)
	}
	// Before the redirection, and so before the first record.
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); e != 0 {
		_ = unix.Close(fd) // nothing was read from it
		return 0, fmt.Errorf("read number of perf event: %w", e)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.events[0]); err != nil {
		_ = unix.Close(fd) // nothing was read from it
		return 0, fmt.Errorf("direct perf event to ring: %w", err)
	}
	r.events = append(r.events, fd)
	return id, nil
}

// Close ends the events. Each tracepoint takes the kernel some tens of
// milliseconds.
func (r *Ring) Close() error {
	var all []error
	if r.mem != nil {
		all = append(all, unix.Munmap(r.mem))
		r.mem, r.area = nil, area{}
	}
	for _, fd := range r.events {
		all = append(all, unix.Close(fd))
	}
	r.events = nil
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("close perf events: %w", err)
	}
	return nil
}
