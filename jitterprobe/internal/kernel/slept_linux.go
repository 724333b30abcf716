package kernel

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Slept returns for how long the machine has slept since it was booted, by
// which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
func Slept() (time.Duration, bool) {
	for range sleptTries {
		var before, boot, after unix.Timespec
		if !read(unix.CLOCK_MONOTONIC, &before) || !read(unix.CLOCK_BOOTTIME, &boot) || !read(unix.CLOCK_MONOTONIC, &after) {
			return 0, false
		}
		if width := after.Nano() - before.Nano(); width <= int64(sleptWidth) {
			return time.Duration(boot.Nano() - before.Nano() - width/2), true
		}
	}
	return 0, false // this thread is being interrupted all the time
}

// read reads a clock. The Go runtime is not told of a system call that never
// blocks: it would wake its monitor, which takes longer than the call.
func read(clock uintptr, t *unix.Timespec) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(t)), 0)
	return errno == 0
}

// sleptWidth is how far apart the two readings of CLOCK_MONOTONIC may be: a
// thread that is preempted between two clocks must not see a sleep.
const (
	sleptWidth = 100 * time.Microsecond
	sleptTries = 10
)

// Realtime reports whether a thread has real-time priority.
func Realtime(tid int) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	return err == nil && (a.Policy == unix.SCHED_FIFO || a.Policy == unix.SCHED_RR)
}
