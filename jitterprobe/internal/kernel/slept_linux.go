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

// Realtime reports whether a thread has real-time priority.
func Realtime(tid int) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	return err == nil && (a.Policy == unix.SCHED_FIFO || a.Policy == unix.SCHED_RR)
}
