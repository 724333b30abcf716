package main

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rights are those of the process that probes. Who injects has all.
type rights string

const (
	allRights rights = ""
	nobody    rights = "as nobody"                   // who may have records of its own threads
	noRecords rights = "without perf_event_open too" // as under the seccomp profile of most containers
)

// keep gives up what is not in r, for all threads.
func (r rights) keep() error {
	if r == allRights {
		return nil
	}
	if r == noRecords {
		if err := forbidPerf(); err != nil {
			return fmt.Errorf("forbid perf_event_open: %w", err)
		}
	}
	const id = 65534
	if err := syscall.Setresgid(id, id, id); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	if err := syscall.Setresuid(id, id, id); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	// Its files in /proc are its own again.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	return nil
}

// forbidPerf has the kernel refuse perf_event_open (seccomp(2)).
func forbidPerf() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const seccompErrno, seccompAllow, setFilter, allThreads = 0x50000, 0x7fff0000, 1, 1
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PERF_EVENT_OPEN},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompErrno | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompAllow},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if r, _, e := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&prog))); e != 0 || r != 0 {
		return fmt.Errorf("seccomp: %w (thread %d)", e, r)
	}
	return nil
}
