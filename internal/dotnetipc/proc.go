package dotnetipc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/hungcall"
	"github.com/otelgc/otelgc/internal/proc"
)

// Proc reads the processes of a machine under a root, proc(5). What the kernel would
// ask a process's memory or file system for takes a context: neither may ever answer.
type Proc struct {
	Root string // "/proc" if empty
	// Calls bounds the calls that hang; a nil one bounds none.
	Calls *hungcall.Limiter
}

// Look returns what f finds in the files of a process, or hungcall.ErrHangs if they
// do not answer. When ctx is done it returns at once.
func Look[T any](ctx context.Context, p Proc, pid int, f func() (T, error)) (T, error) {
	v, err := hungcall.Do(ctx, p.Calls, pid, f)
	if errors.Is(err, hungcall.ErrHangs) {
		err = fmt.Errorf("read its files: %w", err)
	}
	return v, err
}

// Identity names one run of one process: a number of a process is used again,
// not together with its creation time.
type Identity struct {
	PID     int
	Created uint64 // field 22 of /proc/PID/stat, clock ticks since boot
}

// Identify returns the identity of pid, ErrNoProcess if it is gone or waits for
// its parent only.
func (p Proc) Identify(pid int) (Identity, error) {
	stat, err := p.read(pid, "stat", maxProcFile)
	if err != nil {
		return Identity{}, err
	}
	s, err := proc.ParseStat(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("read %s: %w", p.path(pid, "stat"), err)
	}
	if s.Ended() {
		return Identity{}, fmt.Errorf("process %d: %w: it has ended, and waits for its parent", pid, ErrNoProcess)
	}
	return Identity{pid, s.Created}, nil
}

// InnerPID returns the number of the process in its own pid namespace, by the
// NSpid of its status.
func (p Proc) InnerPID(pid int) (int, error) {
	status, err := p.read(pid, "status", maxProcFile)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte("NSpid:"))
		if !ok {
			continue
		}
		if f := bytes.Fields(value); len(f) > 0 {
			if n, err := strconv.Atoi(string(f[len(f)-1])); err == nil && n > 0 {
				return n, nil
			}
		}
		return 0, fmt.Errorf("read %s: NSpid is %q", p.path(pid, "status"), bytes.TrimSpace(value))
	}
	return pid, nil // a kernel without pid namespaces
}

// Arguments returns the command line of pid. Where it has more than maxArguments, the
// last of them holds all that are left, with zeros between them.
func (p Proc) Arguments(ctx context.Context, pid int) ([]string, error) {
	return Look(ctx, p, pid, func() ([]string, error) { return p.arguments(pid) })
}

func (p Proc) arguments(pid int) ([]string, error) {
	text, err := p.read(pid, "cmdline", maxProcFile)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.SplitN(strings.TrimSuffix(string(text), "\x00"), "\x00", maxArguments), nil
}

// Cgroup returns the cgroups of pid, cgroups(7), as this process sees them from
// its own cgroup namespace.
func (p Proc) Cgroup(pid int) (string, error) {
	text, err := p.read(pid, "cgroup", maxProcFile)
	return string(text), err
}

// Name returns the name of pid's program, at most 15 bytes of it.
func (p Proc) Name(pid int) (string, error) {
	text, err := p.read(pid, "comm", maxProcFile)
	return strings.TrimSpace(string(text)), err
}

// Processes returns the numbers of all processes, in no order: with an error, which is
// one line, maxProcesses of them at most.
func (p Proc) Processes() ([]int, error) {
	root := p.root()
	dir, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	var pids []int
	for {
		names, err := dir.Readdirnames(1 << 10)
		if errors.Is(err, io.EOF) {
			return pids, nil
		}
		if err != nil {
			return pids, fmt.Errorf("list %s: %w", root, err)
		}
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			switch {
			case err != nil || pid <= 0:
			case len(pids) >= maxProcesses:
				return pids, fmt.Errorf("list %s: %w: of more than %d processes the others are not looked at: name one that is not found by --target PID", root, ErrPart, maxProcesses)
			default:
				pids = append(pids, pid)
			}
		}
	}
}

// Mend says how to get at the files of a process that may not be read from here: as
// its user, where that is another one, or with capabilities.
func (p Proc) Mend(pid int, capabilities string) string {
	switch uid, ok := p.user(pid); {
	case !ok:
		return "run as the process's user, or with " + capabilities
	case uid == os.Geteuid():
		return fmt.Sprintf("run with %s: to be the process's user (uid %d) is not enough here", capabilities, uid)
	default:
		return fmt.Sprintf("run as the process's user (uid %d), or with %s", uid, capabilities)
	}
}

// user returns the effective user of a process: the files of one that keeps its
// memory to itself are root's, whoever it runs as.
func (p Proc) user(pid int) (uid int, ok bool) {
	_, effective, err := p.uids(pid)
	return effective, err == nil
}

// UID returns the real user id of pid: whoever began it.
func (p Proc) UID(pid int) (int, error) {
	uid, _, err := p.uids(pid)
	return uid, err
}

// uids returns the real and the effective user of a process, by its status.
func (p Proc) uids(pid int) (uid, effective int, err error) {
	status, err := p.read(pid, "status", maxProcFile)
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			if _, err := fmt.Sscan(string(value), &uid, &effective); err == nil {
				return uid, effective, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("read %s: no Uid", p.path(pid, "status"))
}
