package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/otelgc/otelgc/internal/hungcall"
)

// Locate returns where the runtime of pid listens. If it does not, the error
// says why in one line, as far as can be seen from outside.
func (p Proc) Locate(ctx context.Context, pid int) (Endpoint, error) {
	e, err := p.locate(ctx, pid)
	if err != nil {
		return Endpoint{}, fmt.Errorf("find the runtime of process %d: %w", pid, err)
	}
	return e, nil
}

func (p Proc) locate(ctx context.Context, pid int) (Endpoint, error) {
	if err := supported(); err != nil {
		return Endpoint{}, err
	}
	id, err := p.Identify(pid)
	if err != nil {
		return Endpoint{}, err
	}
	inner, err := p.InnerPID(pid)
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{Identity: id, Root: p.path(pid, "root"), Name: socketName(inner, id.Created), Calls: p.Calls}
	env, envErr := p.Environment(ctx, pid)
	if errors.Is(envErr, hungcall.ErrHangs) {
		return Endpoint{}, envErr
	}
	e.Dir = tempDir(env)
	found, err := p.among(ctx, e, []string{e.Dir})
	if err == nil && found.owned {
		return found.Endpoint, nil
	}
	if errors.Is(err, hungcall.ErrHangs) {
		return Endpoint{}, err
	}
	// The environment may not be readable, the program may have changed it before
	// the runtime began, or another user may have made a socket of that name: the
	// kernel knows where one was bound.
	dirs, large := p.boundDirs(ctx, pid, e.Name)
	if len(dirs) > 0 {
		moved, movedErr := p.among(ctx, e, dirs)
		if movedErr == nil && (moved.owned || err != nil) {
			return moved.Endpoint, nil
		}
		if err != nil {
			e.Dir, err = dirs[0], movedErr
		}
	}
	if err == nil {
		return found.Endpoint, nil
	}
	if errors.Is(err, hungcall.ErrHangs) || ctx.Err() != nil {
		return Endpoint{}, err
	}
	return Look(ctx, p, pid, func() (Endpoint, error) {
		return Endpoint{}, p.absent(e, env, errors.Join(err, envErr, large))
	})
}

// found is an endpoint that has a socket, and whether the user of the process owns it.
type found struct {
	Endpoint
	owned bool
}

// among returns e in the first of dirs in which its socket is the user's that the
// process runs as, else in the first in which there is one: a connection is checked,
// and none is made to a socket of another process.
func (p Proc) among(ctx context.Context, e Endpoint, dirs []string) (found, error) {
	return Look(ctx, p, e.PID, func() (first found, err error) {
		user, known := p.user(e.PID)
		for _, dir := range dirs {
			e.Dir = dir
			at, owner, missing := anywhere(e)
			switch {
			case missing != nil && err == nil && first.PID == 0:
				err = missing
			case missing != nil:
			case !known || owner == user:
				return found{at, true}, nil
			case first.PID == 0:
				first, err = found{at, false}, nil
			}
		}
		return first, err
	})
}

// anywhere returns e, and the owner of its socket, if that is there, in the root of the
// process or, if that cannot be entered, in our own: a name is unique to a process,
// and a connection is checked.
func anywhere(e Endpoint) (at Endpoint, owner int, err error) {
	if len(e.Dir)+len("/")+len(e.Name) > maxSocketPath {
		return e, 0, fs.ErrNotExist // no socket can be there
	}
	owner, err = exists(e)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return e, owner, err
	}
	here := e
	here.Root = "/"
	if owner, hereErr := exists(here); hereErr == nil {
		return here, owner, nil
	}
	return e, 0, err
}

// tempDir is the directory of a runtime's socket, as its own GetTempPathA has
// it: TMPDIR, else /tmp.
func tempDir(env map[string]string) string {
	if dir := env["TMPDIR"]; dir != "" {
		return filepath.Clean("/" + dir)
	}
	return "/tmp"
}

// boundDirs looks a socket up in the network namespace of pid. It returns maxBound
// directories at most. The error is ErrPart if the table was not read to its end.
func (p Proc) boundDirs(ctx context.Context, pid int, name string) (dirs []string, err error) {
	err = p.unixTable(ctx, pid, func(b bound) {
		if b.name() == name && len(dirs) < maxBound && !slices.Contains(dirs, b.dir) {
			dirs = append(dirs, b.dir)
		}
	})
	return dirs, err
}

// absent says why there is no socket at e, where err was met.
func (p Proc) absent(e Endpoint, env map[string]string, err error) error {
	file := legible(e.Path())
	if errors.Is(err, errOpenat2) {
		return err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s is not readable: %s", fs.ErrPermission, file, p.Mend(e.PID, "CAP_SYS_PTRACE and CAP_DAC_OVERRIDE"))
	}
	if setting, off := switchedOff(env); off {
		return fmt.Errorf("%w: %s turns it off: unset it and start the process again", ErrNoSocket, setting)
	}
	if n := len(filepath.Join(e.Dir, e.Name)); n > maxSocketPath {
		return fmt.Errorf("%w: its path has %d bytes, and at most %d fit: give the process a TMPDIR shorter than %s", ErrNoSocket, n, maxSocketPath, legible(e.Dir))
	}
	if old := p.leftover(e); old != "" {
		return fmt.Errorf("%w: %s is of an earlier process with that pid; this one has not made its own: it is starting, or no .NET 5 or later", ErrStaleSocket, old)
	}
	if errors.Is(err, ErrPart) {
		return fmt.Errorf("%w: %s is not there, and of the sockets of its network namespace no more than %d MiB are looked at: give the process a TMPDIR that its environment names", ErrNoSocket, file, maxUnixTable>>20)
	}
	return fmt.Errorf("%w: %s is not there: the process is no .NET 5 or later (Mono and native AOT have none by default), or it is starting", ErrNoSocket, file)
}

// legible returns a text that a process chose as it may stand in a message: short, and
// without what commands a terminal.
func legible(text string) string {
	const most = 256
	if len(text) > most {
		text = text[:most] + "..."
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// leftover returns the name of a socket that a former process of that number
// left behind.
func (p Proc) leftover(e Endpoint) string {
	own, _ := parseSocket(e.Name)
	return nameIn(e, func(name string) bool {
		b, ok := parseSocket(name)
		return ok && b.innerPID == own.innerPID
	})
}

// SwitchedOff returns a process that was started with a variable that turns its
// diagnostics socket off, and that variable as it is set; 0 if none can be seen.
func (p Proc) SwitchedOff(ctx context.Context) (pid int, setting string) {
	pids, _ := p.Processes() // of those that there are
	slices.Sort(pids)
	for _, pid := range pids {
		if ctx.Err() != nil {
			break
		}
		env, err := p.Environment(ctx, pid)
		if err != nil {
			continue
		}
		if setting, off := switchedOff(env); off {
			return pid, setting
		}
	}
	return 0, ""
}

// switchedOff returns the variable that turns diagnostics off.
func switchedOff(env map[string]string) (setting string, off bool) {
	for name, value := range env {
		if disables(name, value) {
			return name + "=" + value[:min(len(value), 8)], true
		}
	}
	return "", false
}

// disables reports whether a variable turns diagnostics off. The runtime reads
// its names without regard to case, and their values as hexadecimal numbers.
func disables(name, value string) bool {
	switch strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(name, "DOTNET_"), "COMPlus_")) {
	case "enablediagnostics", "enablediagnostics_ipc":
		return strings.Trim(strings.TrimPrefix(value, "0x"), "0") == "" && value != ""
	}
	return false
}
