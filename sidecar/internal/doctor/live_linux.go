package doctor

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/otelgc/otelgc/jitterprobe"
	"golang.org/x/sys/unix"
)

// newLive asks the kernel itself: seccomp and security modules refuse what no
// file says.
func newLive() (live, error) {
	return live{
		perfThread: func() error { return followSwitches(0, -1) },
		perfCPU:    func(cpu int) error { return followSwitches(-1, cpu) },
		loadBPF:    loadProgram,
		selfTest:   jitterprobe.Try,
		limits:     limitsOf,
	}, nil
}

// followSwitches opens and closes a stream of context switches, of a thread or
// of a CPU (perf_event_open(2), PERF_RECORD_SWITCH).
func followSwitches(thread, cpu int) error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size:    uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits:    unix.PerfBitContextSwitch | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	if thread >= 0 { // as the probe asks for it: root may be without its capabilities
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	fd, err := unix.PerfEventOpen(&attr, thread, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("perf_event_open: %w", err)
	}
	return unix.Close(fd)
}

// limitsOf runs a probe for a moment.
func limitsOf(o jitterprobe.Options) ([]jitterprobe.Limit, error) {
	p, err := jitterprobe.Start(o)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	return p.Limits(), nil
}

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
