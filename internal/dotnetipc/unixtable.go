package dotnetipc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
)

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
