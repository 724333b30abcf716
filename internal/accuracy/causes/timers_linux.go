package main

import (
	"context"
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

// timerEvery is the time between two interrupts.
const timerEvery = time.Millisecond + 37*time.Microsecond

// timerPages is room for a minute of them.
const timerPages = 256

// timers has the kernel sample the probe's CPU by its clock: each sample is an
// interrupt of a timer, and says itself when it came.
func timers(ctx context.Context, e *experiment, p *process, in *injection) (err error) {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(timerEvery),
		Sample_type: unix.PERF_SAMPLE_TIME, Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC, Wakeup: 1 << 30,
	}
	fd, err := unix.PerfEventOpen(&a, -1, p.hello.CPU, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return missingRights{fmt.Errorf("sample the CPU: %w", err)}
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+timerPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map samples: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Munmap(mem)) }()
	head := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
	for end := time.Now().Add(e.span); time.Now().Before(end) && ctx.Err() == nil; {
		wait(ctx, 100*time.Millisecond)
		in.truth = append(in.truth, samples(head, mem[page:])...)
	}
	return nil
}

// samples takes what is in the ring: records of a header and a time.
func samples(head *unix.PerfEventMmapPage, data []byte) (list []stall.Span) {
	le := binary.LittleEndian
	end, at := atomic.LoadUint64(&head.Data_head), head.Data_tail
	for at < end {
		r := data[at%uint64(len(data)):]
		n := uint64(le.Uint16(r[6:]))
		if n == 0 {
			break
		}
		if le.Uint32(r) == unix.PERF_RECORD_SAMPLE && len(r) >= 16 {
			t := stall.Instant(le.Uint64(r[8:]))
			list = append(list, stall.Span{Start: t, End: t + 1})
		}
		at += n
	}
	atomic.StoreUint64(&head.Data_tail, end)
	return list
}
