package doctor

import (
	"fmt"
	"unsafe"

	"github.com/otelgc/otelgc/internal/gouprobe"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/jitterprobe"
	"golang.org/x/sys/unix"
)

// newLive asks the kernel itself: seccomp and security modules refuse what no
// file says.
func newLive() (live, error) {
	return live{
		perfThread: func() error { return followSwitches(0, -1) },
		perfCPU:    func(cpu int) error { return followSwitches(-1, cpu) },
		loadBPF:    hostwatch.MayFollow,
		probeGo:    gouprobe.Supported,
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
