package gouprobe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall/gc"
)

// target is the process, and what of its program is known.
type target struct {
	pid     int
	fd      int      // of the process
	exe     *os.File // its program, by which it is read and probed, whatever is on disk
	program []byte   // differs with each that it executes
	release release
	kind    gc.Kind
	sites   sites
}

// ownNamespace returns an error if the numbers of processes in /proc are not those that
// this process knows.
func ownNamespace() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc is of another PID namespace (share the host's: hostPID: true)")
	}
	return nil
}

func openTarget(pid int) (_ *target, err error) {
	if err := ownNamespace(); err != nil {
		return nil, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return nil, ErrEnded
	case err != nil:
		return nil, fmt.Errorf("open process: %w", err)
	}
	t := &target{pid: pid, fd: fd}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.program, err = executes(pid); err != nil {
		return nil, readable(err)
	}
	if t.exe, err = os.Open(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return nil, readable(err)
	}
	p, err := goprogram.ReadExecutable(t.exe)
	if err != nil {
		return nil, err
	}
	if t.release, err = findRelease(p.Version); err != nil {
		return nil, err
	}
	if t.sites, err = find(t.exe, t.release); err != nil {
		return nil, err
	}
	env, err := goprogram.Environment(os.DirFS("/"), pid)
	if err != nil {
		return nil, readable(err)
	}
	t.kind = kindOf(env["GODEBUG"])
	return t, nil
}

// readable says what is missing where a process may not be read.
func readable(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or to be its user; see otelgc-sidecar doctor)", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return ErrEnded
	}
	return err
}

func executes(pid int) ([]byte, error) {
	return proc.Program(os.DirFS("/"), "proc/"+strconv.Itoa(pid))
}

// look reports whether the process has ended, and whether it executes another program
// than before.
func (t *target) look() (ended, other bool) {
	program, err := executes(t.pid)
	p := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
	if n, _ := unix.Poll(p, 0); n > 0 || len(program) == 0 && err == nil {
		return true, false
	}
	return false, err != nil || !bytes.Equal(program, t.program)
}

func (t *target) close() {
	_ = unix.Close(t.fd) // they were only read
	if t.exe != nil {
		_ = t.exe.Close()
	}
}
