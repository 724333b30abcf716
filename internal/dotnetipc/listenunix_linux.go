package dotnetipc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenUnix listens on a socket at path, in the place of one that a former run left
// there and of nothing else. It never has another mode than this: it is
// made in a directory that is ours alone, and moved when it is ready. Other tools may
// list it under the name that it was made by. What it returns beside the listener takes
// the file away.
func listenUnix(path string, mode fs.FileMode) (u *net.UnixListener, remove func(), err error) {
	if len(path) > maxSocketPath {
		return nil, nil, fmt.Errorf("%s has %d bytes, at most %d fit a socket: choose a shorter path", path, len(path), maxSocketPath)
	}
	if err := vacate(path); err != nil {
		return nil, nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".otelgc-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(private) }()
	dir, err := openPrivate(private)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = unix.Close(dir) }()
	const name = "socket"
	made := byDescriptor(dir) + "/" + name
	u, err = net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	u.SetUnlinkOnClose(false) // it will not be there
	defer func() { _ = unix.Unlinkat(dir, name, 0) }()
	info, err := os.Lstat(made)
	if err == nil {
		err = os.Chmod(made, mode)
	}
	if err == nil { // a link, which replaces nothing
		err = unix.Linkat(dir, name, unix.AT_FDCWD, path, 0)
	}
	if err != nil {
		_ = u.Close()
		return nil, nil, fmt.Errorf("make %s: %w", path, err)
	}
	return u, func() {
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, info) {
			_ = os.Remove(path)
		}
	}, nil
}

// openPrivate returns a descriptor of a directory that no other user can change.
func openPrivate(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	st, err := stat(fd)
	if err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0) {
		err = errors.New("uid " + strconv.Itoa(int(st.Uid)) + " has put another directory in its place")
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// vacate removes the socket that a former run left at path.
func vacate(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSocket {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			_ = conn.Close()
			return fmt.Errorf("%s: another process listens on it", path)
		}
		if errors.Is(err, syscall.ECONNREFUSED) { // it was killed
			return os.Remove(path)
		}
	}
	return fmt.Errorf("%s is there and no socket of a former run: remove it or choose another path", path)
}
