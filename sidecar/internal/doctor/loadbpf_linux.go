package doctor

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loadAttr is the part of union bpf_attr that BPF_PROG_LOAD must have
// (linux/bpf.h).
type loadAttr struct {
	program, count        uint32
	instructions, license uint64
	logLevel, logSize     uint32
	log                   uint64
	kernel, flags         uint32
}

// loadProgram loads and drops a program that does nothing, of a kind that takes
// the rights that following the scheduler does: CAP_BPF and CAP_PERFMON in the
// initial user namespace, and no seccomp filter that forbids it (bpf(2)).
func loadProgram() error {
	instructions := [2]uint64{
		unix.BPF_ALU64 | unix.BPF_MOV, // r0 = 0
		unix.BPF_JMP | unix.BPF_EXIT,
	}
	license := [...]byte{0}
	attr := loadAttr{
		program: unix.BPF_PROG_TYPE_RAW_TRACEPOINT, count: uint32(len(instructions)),
		instructions: uint64(uintptr(unsafe.Pointer(&instructions))), license: uint64(uintptr(unsafe.Pointer(&license))),
	}
	var pin runtime.Pinner
	pin.Pin(&instructions)
	pin.Pin(&license)
	defer pin.Unpin()
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return fmt.Errorf("bpf: %w", errno)
	}
	return unix.Close(int(fd))
}
