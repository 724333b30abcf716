package dotnetipc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Locate returns where the runtime of pid listens. If it does not, the error
// says why in one line, as far as can be seen from outside.
func (p Proc) Locate(pid int) (Endpoint, error) {
	e, err := p.locate(pid)
	if err != nil {
		return Endpoint{}, fmt.Errorf("find the runtime of process %d: %w", pid, err)
	}
	return e, nil
}

func (p Proc) locate(pid int) (Endpoint, error) {
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
	e := Endpoint{Identity: id, Root: p.path(pid, "root"), Name: socketName(inner, id.Created)}
	env, envErr := p.Environment(pid)
	e.Dir = tempDir(env)
	found, err := anywhere(e)
	if err == nil {
		return found, nil
	}
	// The environment may not be readable, or the program may have changed it
	// before the runtime began: the kernel knows where the socket was bound.
	if dir, ok := p.boundDir(pid, e.Name); ok {
		moved := e
		moved.Dir = dir
		found, boundErr := anywhere(moved)
		if boundErr == nil {
			return found, nil
		}
		e, err = moved, boundErr
	}
	return Endpoint{}, p.absent(e, env, errors.Join(err, envErr))
}

// anywhere returns e if its socket is there, in the root of the process or, if
// that cannot be entered, in our own: a name is unique to a process, and a
// connection is checked.
func anywhere(e Endpoint) (Endpoint, error) {
	err := exists(e)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return e, err
	}
	here := e
	here.Root = "/"
	if exists(here) == nil {
		return here, nil
	}
	return e, err
}

// tempDir is the directory of a runtime's socket, as its own GetTempPathA has
// it: TMPDIR, else /tmp.
func tempDir(env map[string]string) string {
	if dir := env["TMPDIR"]; dir != "" {
		return filepath.Clean("/" + dir)
	}
	return "/tmp"
}

// boundDir looks the socket up in the network namespace of pid.
func (p Proc) boundDir(pid int, name string) (string, bool) {
	dir := ""
	_ = p.unixTable(pid, func(b bound) { // what was read of it counts
		if b.name() == name {
			dir = b.dir
		}
	})
	return dir, dir != ""
}

// absent says why there is no socket at e, where err was met.
func (p Proc) absent(e Endpoint, env map[string]string, err error) error {
	file := e.Path()
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s is not readable: %s", fs.ErrPermission, file, p.Mend(e.PID, "CAP_SYS_PTRACE and CAP_DAC_OVERRIDE"))
	}
	if setting, off := switchedOff(env); off {
		return fmt.Errorf("%w: %s turns it off: unset it and start the process again", ErrNoSocket, setting)
	}
	if n := len(filepath.Join(e.Dir, e.Name)); n > maxSocketPath {
		return fmt.Errorf("%w: its path has %d bytes, and at most %d fit: give the process a TMPDIR shorter than %s", ErrNoSocket, n, maxSocketPath, e.Dir)
	}
	if old := p.leftover(e); old != "" {
		return fmt.Errorf("%w: %s is of an earlier process with that pid; this one has not made its own: it is starting, or no .NET 5 or later", ErrStaleSocket, old)
	}
	return fmt.Errorf("%w: %s is not there: the process is no .NET 5 or later (Mono and native AOT have none by default), or it is starting", ErrNoSocket, file)
}

// leftover returns the name of a socket that a former process of that number
// left behind.
func (p Proc) leftover(e Endpoint) string {
	inner, _, _ := strings.Cut(strings.TrimPrefix(e.Name, socketPrefix), "-")
	return nameIn(e, socketPrefix+inner+"-")
}

// SwitchedOff returns a process that was started with a variable that turns its
// diagnostics socket off, and that variable as it is set; 0 if none can be seen.
func (p Proc) SwitchedOff() (pid int, setting string) {
	pids, err := p.Processes()
	if err != nil {
		return 0, ""
	}
	slices.Sort(pids)
	for _, pid := range pids {
		env, err := p.Environment(pid)
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
