package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// Slept returns for how long the machine has slept since it was booted, by
// which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
func Slept() (time.Duration, bool) {
	var mono, boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0, false
	}
	return time.Duration(boot.Nano() - mono.Nano()), true
}

// majorFaults returns how many page faults of this process needed the disk.
func majorFaults() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Majflt)
}

// Realtime reports whether a thread has real-time priority.
func Realtime(tid int) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	return err == nil && (a.Policy == unix.SCHED_FIFO || a.Policy == unix.SCHED_RR)
}
