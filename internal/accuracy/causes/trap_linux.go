package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

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
// then who waits in one goes on.
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
// rawspin of the probe).
const (
	beforeRecords = 2 * 4096
	recordSize    = 16
)

// ringMemory finds the records of this process's probe: the one mapping of its size.
func ringMemory() (t trap, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return t, fmt.Errorf("find the probe's memory: %w", err)
	}
	const size = beforeRecords + jitterprobe.DefaultRing*recordSize
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
