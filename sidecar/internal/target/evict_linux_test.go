package target

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// evict takes its pages from a process until ctx ends, or it does.
func evict(ctx context.Context, t *testing.T, pid int) {
	e, err := newEvictor(pid)
	if err != nil {
		t.Error(err)
		return
	}
	defer e.close()
	for ctx.Err() == nil && e.once() == nil {
		time.Sleep(time.Millisecond)
	}
}

// evictor takes the pages of files from a process: they have to be read again.
type evictor struct {
	fd     int
	ranges []unix.Iovec
}

func newEvictor(pid int) (*evictor, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	e := &evictor{}
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[5], "/") || !strings.HasPrefix(f[1], "r") || strings.Contains(f[5], "(deleted)") {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("parse %q", line)
		}
		// The addresses are of another process.
		e.ranges = append(e.ranges, unix.Iovec{Base: (*byte)(unsafe.Add(nil, start)), Len: end - start})
	}
	if e.fd, err = unix.PidfdOpen(pid, 0); err != nil {
		return nil, err
	}
	if err := e.once(); err != nil {
		e.close()
		return nil, fmt.Errorf("take pages of process %d: %w", pid, err)
	}
	return e, nil
}

func (e *evictor) once() error {
	for i := range e.ranges {
		_, _, errno := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(e.fd), uintptr(unsafe.Pointer(&e.ranges[i])), 1, unix.MADV_PAGEOUT, 0, 0)
		if errno != 0 && errno != unix.EINVAL && errno != unix.ENOMEM { // gone since
			return errno
		}
	}
	return nil
}

func (e *evictor) close() { _ = unix.Close(e.fd) }
