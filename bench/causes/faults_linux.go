package causes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/bench/kernel"
	"github.com/otelgc/otelgc/stall"
)

// faultEvery is the time between two faults.
const faultEvery = 3 * time.Millisecond

// faultPages is room for what faults a thread has in a few milliseconds.
const faultPages = 16

// faults has the probe's thread have short page faults at the memory of its gaps:
// the kernel's own samples have their times and addresses.
func faults(in *injection) (err error) {
	t, err := in.child.trap()
	if err != nil {
		return missingRights{err}
	}
	defer func() { err = errors.Join(err, unix.Close(t.FD)) }()
	ring, err := kernel.Sample(unix.PERF_COUNT_SW_PAGE_FAULTS, 1, unix.PERF_SAMPLE_ADDR, in.tid, -1, faultPages)
	if err != nil {
		return missingRights{err}
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	for in.on() {
		if err := t.protect(true); err != nil {
			return err
		}
		in.wait(faultEvery)
		ring.Read(func(body []byte) {
			if len(body) < 16 {
				return
			}
			at, address := stall.Instant(binary.LittleEndian.Uint64(body)), binary.LittleEndian.Uint64(body[8:])
			if address-t.At < t.Len {
				in.truth = append(in.truth, stall.Span{Start: at, End: at + 1})
			}
		})
	}
	return nil
}

// faultFor holds how long faults are made to last, and faultPatience how long one
// may take to come: the next interrupt that makes a gap makes a fault.
var (
	faultFor      = []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 7 * time.Millisecond}
	faultPatience = 100 * time.Millisecond
)

// longFaults has the probe's thread wait in page faults until this process ends
// them. It is known to wait from the time at which the kernel reports the fault.
func longFaults(in *injection) (err error) {
	t, err := in.child.trap()
	if err != nil {
		return missingRights{err}
	}
	// Nobody else would end the last one.
	defer func() { err = errors.Join(err, t.protect(false), unix.Close(t.FD)) }()
	for i := 0; in.on(); i++ {
		if err := t.protect(true); err != nil {
			return err
		}
		faulted, err := t.next()
		s := stall.Span{Start: in.clock.Now()}
		in.wait(faultFor[i%len(faultFor)])
		s.End = in.clock.Now()
		if err := errors.Join(err, t.protect(false)); err != nil {
			return err
		}
		if faulted == in.tid {
			in.truth = append(in.truth, s)
		}
		in.wait(faultEvery)
	}
	return nil
}

// next waits for a fault and returns the thread that has it, zero if none came.
func (t trap) next() (tid int, err error) {
	poll := []unix.PollFd{{Fd: int32(t.FD), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, int(faultPatience.Milliseconds())); n == 0 || errors.Is(err, unix.EINTR) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("wait for a fault: %w", err)
	}
	var message [32]byte // struct uffd_msg
	n, err := unix.Read(t.FD, message[:])
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read fault: %w", err)
	case n != len(message) || message[0] != eventPagefault:
		return 0, fmt.Errorf("read fault: %d bytes of event %#x", n, message[0])
	}
	return int(binary.LittleEndian.Uint32(message[24:])), nil
}

// trap returns the trap that a child has set, with a file of this process.
func (p *process) trap() (t trap, err error) {
	t = p.hello.Trap
	pidfd, err := unix.PidfdOpen(p.Process.Pid, 0)
	if err != nil {
		return t, fmt.Errorf("open child: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(pidfd)) }()
	if t.FD, err = unix.PidfdGetfd(pidfd, t.FD, 0); err != nil {
		return t, fmt.Errorf("take the child's userfaultfd: %w", err)
	}
	return t, nil
}

// trap is the memory into which a spinning probe writes its gaps, and the file by
// which another process has the next write be a page fault: it need but make the
// memory write-protected (userfaultfd(2)). What is there stays there.
type trap struct {
	FD      int // of the process that has the memory
	At, Len uint64
}

// Numbers of <linux/userfaultfd.h>.
const (
	uffdAPI         = 0xaa
	uffdioAPI       = 0xc018aa3f
	uffdioRegister  = 0xc020aa00
	uffdioProtect   = 0xc018aa06
	uffdUserOnly    = 1      // of the call
	uffdWriteFaults = 1 << 0 // of the API
	uffdThread      = 1 << 8
	uffdAsync       = 1 << 15 // the kernel settles a fault itself, at once
	registerProtect = 1 << 1
	eventPagefault  = 0x12
)

// setTrap makes a trap of the ring of this process's probe. With wait, a fault
// lasts until somebody ends it.
func setTrap(wait bool) (t trap, err error) {
	if t, err = ringMemory(); err != nil {
		return t, err
	}
	fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|uffdUserOnly, 0, 0)
	if e != 0 {
		return t, fmt.Errorf("userfaultfd: %w", e)
	}
	t.FD = int(fd)
	features := uint64(uffdWriteFaults | uffdThread)
	if !wait {
		features |= uffdAsync
	}
	err = ioctl(t.FD, uffdioAPI, unsafe.Pointer(&[3]uint64{uffdAPI, features}))
	if err == nil {
		err = ioctl(t.FD, uffdioRegister, unsafe.Pointer(&[4]uint64{t.At, t.Len, registerProtect}))
	}
	if err != nil {
		return t, errors.Join(fmt.Errorf("set trap: %w", err), unix.Close(t.FD))
	}
	return t, nil
}

// protect has the next write to each page of the trap be a page fault, or no more:
// then a thread that waits in one goes on.
func (t trap) protect(on bool) error {
	mode := uint64(0)
	if on {
		mode = 1
	}
	if err := ioctl(t.FD, uffdioProtect, unsafe.Pointer(&[3]uint64{t.At, t.Len, mode})); err != nil {
		return fmt.Errorf("protect memory of the probe: %w", err)
	}
	return nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}

// A spinning probe maps its records behind two pages of its own, all at once (package
// spin of the probe).
const (
	records       = 1 << 16
	beforeRecords = 2 * 4096
	recordSize    = 16
)

// ringMemory finds the records of this process's probe: the one mapping of its size.
func ringMemory() (t trap, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return t, fmt.Errorf("find the probe's memory: %w", err)
	}
	const size = beforeRecords + records*recordSize
	found := 0
	for line := range strings.Lines(string(maps)) {
		low, rest, _ := strings.Cut(line, "-")
		high, _, _ := strings.Cut(rest, " ")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil && to-from == size {
			found++
			t = trap{At: from + beforeRecords, Len: size - beforeRecords}
		}
	}
	if found != 1 {
		return t, fmt.Errorf("find the probe's memory: %w: %d mappings have its size", stall.ErrNotSupported, found)
	}
	return t, nil
}
