//go:build (amd64 || arm64) && !noasm

package spin

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Nanotime returns CLOCK_MONOTONIC of this process's time namespace.
func Nanotime() int64 { return nanotime() }

// Syscall is the loop that reads the counter up to n times in syscall state, and then a read of the counter as soon
// as the runtime has let the goroutine go on: from now to out is the runtime's.
//
// Nothing between the two calls may grow the stack, or the runtime throws.
//
//go:nosplit
//go:norace
func Syscall(prev, threshold, n uint64) (left, last, now, out uint64) {
	entersyscall()
	left, last, now = Spin(prev, threshold, n)
	exitsyscall()
	out = Now()
	return left, last, now, out
}

// Sleep sleeps until deadline, of [Nanotime]. It returns when the machine woke
// it and when the runtime let it go on. A signal may wake it early.
//
// It gives its P away at once. In the ordinary syscall state it would keep it
// until sysmon looks, which never finds it in the same call twice: where there
// is one P, goroutines then wait tens of milliseconds on an idle CPU.
//
//go:nosplit
//go:norace
func Sleep(deadline int64) (woken, out int64) {
	ts := unix.Timespec{Sec: deadline / 1e9, Nsec: deadline % 1e9}
	entersyscallblock()
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	woken = nanotime()
	exitsyscall()
	return woken, nanotime()
}
