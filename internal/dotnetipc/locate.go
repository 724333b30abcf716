package dotnetipc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/otelgc/otelgc/internal/hungcall"
)

// peer is the process at the other end of a socket as it was when it listened or
// connected: its number in this process's pid namespace, 0 if it cannot be seen from
// here, and its user.
type peer struct{ pid, uid int }

// Endpoint is where the runtime of one process listens.
type Endpoint struct {
	Identity
	// Root is the root directory of the process as this process sees it, Dir
	// and Name the socket in it.
	Root, Dir, Name string
	// Calls bounds the calls for it that hang; a nil one bounds none.
	Calls *hungcall.Limiter
}

// Path returns the path of the socket.
func (e Endpoint) Path() string { return filepath.Join(e.Root, e.Dir, e.Name) }

// String names the process, for messages.
func (e Endpoint) String() string { return fmt.Sprintf("process %d", e.PID) }

func (e Endpoint) dial(ctx context.Context) (net.Conn, error) {
	conn, err := hungcall.Do(ctx, e.Calls, e.PID, func() (net.Conn, error) { return dial(ctx, e) })
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", legible(e.Path()), err)
	}
	return conn, nil
}

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

// Runtimes returns the processes that have a diagnostics socket with a listener, by their
// number, as far as this process may see them. It looks in
// every network namespace once, and at a process only where there is a socket.
//
// With an error, which is one line, there may be more than those that it returns: it
// is ErrPart where there are too many processes, or sockets in one namespace.
func (p Proc) Runtimes(ctx context.Context) ([]Identity, error) {
	pids, trouble := p.Processes()
	if trouble != nil && !errors.Is(trouble, ErrPart) {
		return nil, fmt.Errorf("look for .NET processes: %w", trouble)
	}
	s := search{proc: p, pids: pids}
	seen := make(map[string]bool)
	for _, pid := range pids {
		net, err := os.Readlink(p.path(pid, "ns/net"))
		if err != nil || seen[net] {
			continue
		}
		switch err := p.unixTable(ctx, pid, s.add); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrPart):
			trouble = fmt.Errorf("%w: a network namespace has more sockets than the %d MiB that are read of its list (%s): name a .NET process that is not found by --target PID", ErrPart, maxUnixTable>>20, p.path(pid, "net/unix"))
		case err != nil:
			continue // it ended: another may show the same namespace
		}
		seen[net] = true
	}
	slices.SortFunc(s.found, func(a, b Identity) int { return a.PID - b.PID })
	return slices.Compact(s.found), trouble
}

// search finds the processes that sockets are named after. Of a socket that is named
// after none it keeps nothing: any process may bind any number of them.
type search struct {
	proc  Proc
	pids  []int
	found []Identity
	// created has the processes by their creation time, once a socket was seen.
	// named has those of the creation times that sockets were seen of, by the name
	// that their socket would have, until it is seen.
	created map[uint64][]Identity
	named   map[bound][]Identity
}

func (s *search) add(b bound) {
	if s.created == nil {
		s.created, s.named = make(map[uint64][]Identity), make(map[bound][]Identity)
		for _, pid := range s.pids {
			if id, err := s.proc.Identify(pid); err == nil {
				s.created[id.Created] = append(s.created[id.Created], id)
			}
		}
	}
	for _, id := range s.created[b.created] {
		if inner, err := s.proc.InnerPID(id.PID); err == nil {
			key := bound{innerPID: inner, created: id.Created}
			s.named[key] = append(s.named[key], id)
		}
	}
	delete(s.created, b.created)
	b.dir = ""
	s.found = append(s.found, s.named[b]...)
	delete(s.named, b)
}

// Names of the sockets, ds-ipc-pal-socket.c: the pid is the process's own
// number for itself, the key its creation time.
const (
	socketPrefix = "dotnet-diagnostic-"
	socketSuffix = "-socket"
)

// bound is one diagnostics socket of a network namespace, by its name.
type bound struct {
	dir      string
	innerPID int
	created  uint64
}

func (b bound) name() string { return socketName(b.innerPID, b.created) }

func socketName(innerPID int, created uint64) string {
	return socketPrefix + strconv.Itoa(innerPID) + "-" + strconv.FormatUint(created, 10) + socketSuffix
}

// parseSocket reads the path of a diagnostics socket.
func parseSocket(file string) (bound, bool) {
	dir, name := path.Split(file)
	rest, ok := strings.CutPrefix(name, socketPrefix)
	if !ok {
		return bound{}, false
	}
	if rest, ok = strings.CutSuffix(rest, socketSuffix); !ok {
		return bound{}, false
	}
	pid, key, ok := strings.Cut(rest, "-")
	if !ok {
		return bound{}, false
	}
	b := bound{dir: path.Clean("/" + dir)}
	var err error
	if b.innerPID, err = strconv.Atoi(pid); err != nil || b.innerPID <= 0 {
		return bound{}, false
	}
	if b.created, err = strconv.ParseUint(key, 10, 64); err != nil {
		return bound{}, false
	}
	if b.name() != name { // +7 and 007 are not the runtime's spelling
		return bound{}, false
	}
	return b, true
}

// acceptsConnections is __SO_ACCEPTCON of the column Flags, <linux/net.h>.
const acceptsConnections = 0x10000

// readUnixTable yields the diagnostics sockets of a /proc/PID/net/unix that
// have a listener. Of a table of more than limit bytes it reads the first limit
// bytes and returns ErrPart. It looks at ctx every few lines.
func readUnixTable(ctx context.Context, r io.Reader, limit int64, yield func(bound)) error {
	left := &io.LimitedReader{R: r, N: limit}
	in := bufio.NewReaderSize(left, 64<<10)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := in.ReadSlice('\n')
		if b, ok := parseUnixLine(line); ok {
			yield(b)
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull): // no path is that long
		case errors.Is(err, io.EOF) && left.N <= 0:
			return ErrPart
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// parseUnixLine reads one line of the table. The path is the eighth column, and
// may hold spaces.
func parseUnixLine(line []byte) (bound, bool) {
	at := bytes.Index(line, []byte(" /"))
	if at < 0 || !bytes.Contains(line[at:], []byte(socketPrefix)) {
		return bound{}, false
	}
	f := bytes.Fields(line[:at])
	const flags = 3
	if len(f) != 7 {
		return bound{}, false
	}
	bits, err := strconv.ParseUint(string(f[flags]), 16, 64)
	if err != nil || bits&acceptsConnections == 0 {
		return bound{}, false
	}
	return parseSocket(strings.TrimSuffix(string(line[at+1:]), "\n"))
}

// unixTable yields the diagnostics sockets of the network namespace of pid. The kernel
// lists them by itself: the process cannot make it wait.
func (p Proc) unixTable(ctx context.Context, pid int, yield func(bound)) error {
	path := p.path(pid, "net/unix")
	f, err := os.Open(path)
	if err != nil {
		return p.gone(pid, err)
	}
	defer func() { _ = f.Close() }()
	if err := readUnixTable(ctx, f, maxUnixTable, yield); err != nil {
		return p.gone(pid, fmt.Errorf("read %s: %w", path, err))
	}
	return nil
}
