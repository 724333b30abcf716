package dotnetipc

import (
	"bytes"
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

// parseUnixTable returns the diagnostics sockets of a /proc/PID/net/unix that
// somebody listens on. The path is the eighth column, and may hold spaces.
func parseUnixTable(text []byte) []bound {
	var found []bound
	for line := range bytes.Lines(text) {
		at := bytes.Index(line, []byte(" /"))
		if at < 0 || !bytes.Contains(line[at:], []byte(socketPrefix)) {
			continue
		}
		f := bytes.Fields(line[:at])
		const flags = 3
		if len(f) != 7 {
			continue
		}
		bits, err := strconv.ParseUint(string(f[flags]), 16, 64)
		if err != nil || bits&acceptsConnections == 0 {
			continue
		}
		if b, ok := parseSocket(strings.TrimSuffix(string(line[at+1:]), "\n")); ok {
			found = append(found, b)
		}
	}
	return found
}
