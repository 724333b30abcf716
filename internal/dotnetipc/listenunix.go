package dotnetipc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// listenUnix listens on a socket at path, in the place of one that a former run left
// there and of nothing else.
func listenUnix(path string) (*net.UnixListener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s has %d bytes, at most %d fit a socket: choose a shorter path", path, len(path), maxSocketPath)
	}
	address := &net.UnixAddr{Name: path, Net: "unix"}
	u, err := net.ListenUnix("unix", address)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return u, err
	}
	// A socket that nobody listens on is left of one that was killed.
	conn, dialErr := net.DialUnix("unix", nil, address)
	if dialErr == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: another process listens on it", path)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSocket == 0 || !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s is there and no socket of a former run: remove it or choose another path", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", address)
}
