package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/accuracy/perfring"
	"github.com/otelgc/otelgc/stall"
)

// faultEvery is the time between two faults.
const faultEvery = 3 * time.Millisecond

// faultPages is room for what faults a thread has in a few milliseconds.
const faultPages = 16

// faults has the probe's thread have short page faults at the memory of its gaps:
// the kernel's own samples of them say when, and where.
func faults(ctx context.Context, e *experiment, p *process, in *injection) (err error) {
	t, tid, err := p.trap()
	if err != nil {
		return missingRights{err}
	}
	defer func() { err = errors.Join(err, unix.Close(t.FD)) }()
	ring, err := perfring.Open(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS,
		Sample: 1, Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR,
	}, tid, -1, faultPages)
	if err != nil {
		return missingRights{err}
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	for end := time.Now().Add(e.span); time.Now().Before(end) && ctx.Err() == nil; {
		if err := t.protect(true); err != nil {
			return err
		}
		wait(ctx, faultEvery)
		ring.Read(func(body []byte) {
			if len(body) < 16 {
				return
			}
			at, address := stall.Instant(binary.LittleEndian.Uint64(body)), binary.LittleEndian.Uint64(body[8:])
			if address-t.At < t.Len {
				in.truth = append(in.truth, stall.Span{Start: at, End: at + 1})
			}
		})
	}
	return nil
}

// faultFor holds how long faults are made to last, and faultPatience how long one
// may take to come: the next interrupt that makes a gap makes a fault.
var (
	faultFor      = []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 7 * time.Millisecond}
	faultPatience = 100 * time.Millisecond
)

// longFaults has the probe's thread wait in page faults until this process ends
// them. It is known to wait from when the kernel tells of the fault.
func longFaults(ctx context.Context, e *experiment, p *process, in *injection) (err error) {
	t, tid, err := p.trap()
	if err != nil {
		return missingRights{err}
	}
	// Nobody else would end the last one.
	defer func() { err = errors.Join(err, t.protect(false), unix.Close(t.FD)) }()
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	end := time.Now().Add(e.span)
	for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
		if err := t.protect(true); err != nil {
			return err
		}
		faulted, err := t.next()
		s := stall.Span{Start: clock.Now()}
		wait(ctx, faultFor[i%len(faultFor)])
		s.End = clock.Now()
		if err := errors.Join(err, t.protect(false)); err != nil {
			return err
		}
		if faulted == tid {
			in.truth = append(in.truth, s)
		}
		wait(ctx, faultEvery)
	}
	return nil
}

// next waits for a fault and returns the thread that has it, zero if none came.
func (t trap) next() (tid int, err error) {
	poll := []unix.PollFd{{Fd: int32(t.FD), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, int(faultPatience.Milliseconds())); n == 0 || errors.Is(err, unix.EINTR) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("wait for a fault: %w", err)
	}
	var message [32]byte // struct uffd_msg
	n, err := unix.Read(t.FD, message[:])
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read fault: %w", err)
	case n != len(message) || message[0] != eventPagefault:
		return 0, fmt.Errorf("read fault: %d bytes of event %#x", n, message[0])
	}
	return int(binary.LittleEndian.Uint32(message[24:])), nil
}

// trap returns the trap that a child has set, with a file of this process, and the
// thread that is to go into it.
func (p *process) trap() (t trap, tid int, err error) {
	t = p.hello.Trap
	if tid, err = probeThread(p.cmd.Process.Pid); err != nil {
		return t, 0, err
	}
	pidfd, err := unix.PidfdOpen(p.cmd.Process.Pid, 0)
	if err != nil {
		return t, 0, fmt.Errorf("open child: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(pidfd)) }()
	if t.FD, err = unix.PidfdGetfd(pidfd, t.FD, 0); err != nil {
		return t, 0, fmt.Errorf("take the child's userfaultfd: %w", err)
	}
	return t, tid, nil
}
