package gouprobe

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// errFilter is for kernels before 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering
// logic"): they take a process for one of its threads.
var errFilter = fmt.Errorf("%w: in this kernel a uprobe_multi link sees one thread of a process only (Linux 6.6.33, 6.9.4 and 6.10 see all)", stall.ErrNotSupported)

// tried is what tryFilter attaches to.
//
//go:noinline
func tried(hits *int) { *hits++ }

// tryFilter attaches to this process, and returns an error if a thread that is not its
// first one is not seen.
func tryFilter() error {
	at, err := fileOffset(reflect.ValueOf(tried).Pointer())
	if err != nil {
		return fmt.Errorf("try a probe: %w", err)
	}
	hits, err := ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_tried", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return kernelError(err)
	}
	defer func() { _ = hits.Close() }() // nothing is in it
	program, err := loadProgram(asm.Instructions{
		asm.LoadMapValue(asm.R1, hits.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
	if err != nil {
		return kernelError(err)
	}
	defer func() { _ = program.Close() }() // it goes with its link
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("try a probe: %w", err)
	}
	defer func() { _ = exe.Close() }() // it was only read
	l, err := attachAt(exe, program, &link.UprobeMultiOptions{Addresses: []uint64{at}, PID: uint32(os.Getpid())})
	if err != nil {
		return kernelError(err)
	}
	onOtherThread(func() { tried(new(int)) })
	var value [8]byte
	if err := errors.Join(hits.Lookup(uint32(0), value[:]), l.Close()); err != nil {
		return fmt.Errorf("try a probe: %w", err)
	}
	if binary.NativeEndian.Uint64(value[:]) == 0 {
		return errFilter
	}
	return nil
}

// onOtherThread calls f on a thread that is not the first of the process.
func onOtherThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onOtherThread(f) // this one is locked
			return
		}
		f()
	}()
	<-done
}

// fileOffset returns where in /proc/self/exe the code at an address of this process is.
func fileOffset(address uintptr) (uint64, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to, at uint64
		var mode string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x", &from, &to, &mode, &at); err != nil {
			return 0, fmt.Errorf("parse /proc/self/maps: %q", lines.Text())
		}
		if a := uint64(address); from <= a && a < to {
			return a - from + at, nil
		}
	}
	return 0, fmt.Errorf("find %#x in /proc/self/maps: it is not there", address)
}
