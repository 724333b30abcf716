package hostwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

const (
	ringSize = 1 << 20 // 32,768 events: 320,000 a second at a drain each 100 ms
	// maxBatch bounds a drain: a process that switches faster than it is
	// drained must not hold the reader.
	maxBatch = ringSize / (eventSize + 8)
)

// scheduler is the stream of what the kernel's scheduler does to a process.
type scheduler struct {
	ring, drops *ebpf.Map
	programs    []*ebpf.Program
	links       []link.Link
	reader      *ringbuf.Reader
	record      ringbuf.Record
}

// initialPIDs is the inode of the initial PID namespace (PROC_PID_INIT_INO,
// include/linux/proc_ns.h).
const initialPIDs = 0xEFFFFFFC

// errOtherPIDs: a program in the kernel knows a process by its id in the initial
// namespace. By another id it would see nothing of it, or another process, and
// silence is taken for a machine that left the process alone.
var errOtherPIDs = errors.New("this PID namespace is not the initial one, so that the kernel has another id for the process: share the host's (hostPID: true)")

// followScheduler attaches to the scheduler. It needs CAP_BPF and CAP_PERFMON
// (capabilities(7)), the initial PID namespace, and a kernel with type
// information, from Linux 5.18 on.
func followScheduler(process int) (*scheduler, error) {
	var self unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &self); err != nil {
		return nil, fmt.Errorf("find PID namespace: %w", err)
	}
	if self.Ino != initialPIDs {
		return nil, errOtherPIDs
	}
	l, err := findLayout()
	if err != nil {
		return nil, err
	}
	s := &scheduler{}
	if err := s.open(&writer{layout: l, process: int32(process)}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *scheduler) open(w *writer) (err error) {
	s.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_sched", Type: ebpf.RingBuf, MaxEntries: ringSize})
	if err != nil {
		return fmt.Errorf("make ring of scheduler events: %w", unguessed(err))
	}
	s.drops, err = ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_drops", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return fmt.Errorf("make count of drops: %w", unguessed(err))
	}
	if s.reader, err = ringbuf.NewReader(s.ring); err != nil {
		return fmt.Errorf("read scheduler events: %w", err)
	}
	w.ring, w.drops = s.ring.FD(), s.drops.FD()
	for _, p := range []struct {
		tracepoint   string
		instructions asm.Instructions
	}{
		{"sched_switch", w.onSwitch()},
		{"sched_waking", w.onWakeup(waking)},
		{"sched_wakeup", w.onWakeup(woken)},
		{"sched_wakeup_new", w.onWakeup(woken)},
		{"sched_process_exec", w.onExec()},
	} {
		if err := s.attach(p.tracepoint, p.instructions); err != nil {
			return fmt.Errorf("follow %s: %w", p.tracepoint, unguessed(err))
		}
	}
	return nil
}

// unguessed takes its guess from an error of the library, that RLIMIT_MEMLOCK may be too
// low: the kernels that we can follow (from 5.18 on) do not look at it for this.
func unguessed(err error) error {
	if errors.Is(err, unix.EPERM) {
		return unix.EPERM
	}
	return err
}

// MayFollow returns why this process may not follow the scheduler, or nil. It loads and
// drops a program that does nothing, of a kind that takes the same rights: CAP_BPF and
// CAP_PERFMON in the initial user namespace, and no seccomp filter that forbids bpf(2).
func MayFollow() error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if errno := unix.Errno(0); errors.As(err, &errno) {
		return fmt.Errorf("bpf: %w", errno)
	} else if err != nil {
		return fmt.Errorf("bpf: %w", err)
	}
	return program.Close()
}

func (s *scheduler) attach(tracepoint string, instructions asm.Instructions) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "otelgc_sched", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: tracepoint,
		Instructions: instructions, License: "GPL", // the helpers are the kernel's, for GPL programs only
	})
	if err != nil {
		return err
	}
	s.programs = append(s.programs, program)
	l, err := link.AttachTracing(link.TracingOptions{Program: program, AttachType: ebpf.AttachTraceRawTp})
	if err != nil {
		return err
	}
	s.links = append(s.links, l)
	return nil
}

// drain appends the events that are there.
func (s *scheduler) drain(events []event) ([]event, error) {
	s.reader.SetDeadline(time.Now())
	for range maxBatch {
		err := s.reader.ReadInto(&s.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return events, fmt.Errorf("read scheduler events: %w", err)
		}
		if e, ok := decodeEvent(s.record.RawSample); ok {
			events = append(events, e)
		}
	}
	return events, nil
}

// lost returns for how many events the ring had no room since the start.
func (s *scheduler) lost() (uint64, error) {
	var value [8]byte
	if err := s.drops.Lookup(uint32(0), value[:]); err != nil {
		return 0, fmt.Errorf("read count of drops: %w", err)
	}
	return binary.NativeEndian.Uint64(value[:]), nil
}

// close detaches from the scheduler.
func (s *scheduler) close() error {
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	for _, p := range s.programs {
		errs = append(errs, p.Close())
	}
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	for _, m := range []*ebpf.Map{s.ring, s.drops} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}
