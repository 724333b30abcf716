package cpuclock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// pages is room for a minute of samples, one a millisecond.
const pages = 256

// Sampler interrupts one CPU by a timer of its own. It is for one goroutine.
type Sampler struct {
	fd   int
	mem  []byte
	head *unix.PerfEventMmapPage
	data []byte
}

// Open begins to sample a CPU once in every. It needs CAP_PERFMON.
func Open(cpu int, every time.Duration) (*Sampler, error) {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(every),
		Sample_type: unix.PERF_SAMPLE_TIME, Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC, Wakeup: 1 << 30,
	}
	fd, err := unix.PerfEventOpen(&a, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sample CPU %d: perf_event_open: %w", cpu, err)
	}
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map samples: %w", err), unix.Close(fd))
	}
	return &Sampler{fd, mem, (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), mem[page:]}, nil
}

// Read returns the samples since the last call, in order. Those for which there
// was no room are not among them.
func (s *Sampler) Read() (list []stall.Instant) {
	le := binary.LittleEndian
	end, at := atomic.LoadUint64(&s.head.Data_head), s.head.Data_tail
	for at < end {
		r := s.data[at%uint64(len(s.data)):]
		n := uint64(le.Uint16(r[6:]))
		if n == 0 {
			break
		}
		if le.Uint32(r) == unix.PERF_RECORD_SAMPLE && len(r) >= 16 {
			list = append(list, stall.Instant(le.Uint64(r[8:])))
		}
		at += n
	}
	atomic.StoreUint64(&s.head.Data_tail, end)
	return list
}

// Close ends the sampling.
func (s *Sampler) Close() error {
	return errors.Join(unix.Munmap(s.mem), unix.Close(s.fd))
}
