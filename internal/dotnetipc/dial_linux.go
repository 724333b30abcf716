package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// dial connects to the socket of e. It is opened inside the process's root, so that no
// symbolic link of a container leads out of it, and reached through the descriptor,
// whatever its path's length, and whatever is put in its place meanwhile.
func dial(ctx context.Context, e Endpoint) (net.Conn, error) {
	fd, _, err := openSocket(e)
	if err != nil {
		return nil, explainDial(err)
	}
	defer func() { _ = unix.Close(fd) }()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", byDescriptor(fd))
	if err != nil {
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			err = op.Err // without the path by descriptor
		}
		return nil, explainDial(err)
	}
	if err := listens(conn.(*net.UnixConn), e.PID); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// exists returns the owner of the socket of e, if it is there.
func exists(e Endpoint) (owner int, err error) {
	fd, owner, err := openSocket(e)
	if err == nil {
		_ = unix.Close(fd)
	}
	return owner, err
}

// openSocket returns a descriptor of the socket of e, and its owner.
func openSocket(e Endpoint) (fd, owner int, err error) {
	fd, err = openIn(e.Root, filepath.Join(e.Dir, e.Name), unix.O_NOFOLLOW)
	if err != nil {
		return -1, 0, err
	}
	st, err := stat(fd)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		err = fmt.Errorf("%s is no socket", e.Name)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	return fd, int(st.Uid), nil
}

func stat(fd int) (st unix.Stat_t, err error) {
	if err := unix.Fstat(fd, &st); err != nil {
		return st, fmt.Errorf("stat: %w", err)
	}
	return st, nil
}

// errOpenat2 says that a path of another process cannot be opened safely here.
var errOpenat2 = errors.New("openat2(2) is not to be had, without which a link could lead out of the process's root: run on Linux 5.6 or later, under a seccomp profile that allows it")

// openIn returns a descriptor of a path inside a root, wherever the links on the way
// point, with which nothing can be read yet: to open a pipe or a device may wait, or
// do something.
func openIn(rootPath, path string, flags int) (int, error) {
	flags |= unix.O_PATH | unix.O_CLOEXEC
	root, err := unix.Open(rootPath, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", rootPath, err)
	}
	defer func() { _ = unix.Close(root) }()
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// Any other call would follow a link of the process out of its root.
		err = errOpenat2
	}
	if err != nil {
		return -1, fmt.Errorf("open %s in %s: %w", legible(path), rootPath, err)
	}
	return fd, nil
}

// readInRoot reads a plain file inside a root, at most limit bytes.
func readInRoot(root, path string, limit int64) ([]byte, error) {
	fd, err := openIn(root, path, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	st, err := stat(fd)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s is no plain file", legible(path))
	}
	f, err := reopen(fd, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", legible(path), err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return readAtMost(f, path, limit)
}

// reopen opens what a descriptor of openIn is of.
func reopen(fd, flags int) (*os.File, error) {
	return os.OpenFile(byDescriptor(fd), flags|unix.O_CLOEXEC, 0)
}

func byDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// nameIn returns a name in the directory of e that is wanted, as far as it is among the
// first maxEntries; empty if there is none.
func nameIn(e Endpoint, wanted func(string) bool) string {
	fd, err := openIn(e.Root, e.Dir, unix.O_DIRECTORY)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }()
	dir, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	const atOnce = 256
	for range maxEntries / atOnce {
		names, err := dir.Readdirnames(atOnce)
		if at := slices.IndexFunc(names, wanted); at >= 0 {
			return names[at]
		}
		if err != nil {
			break
		}
	}
	return ""
}

// listens checks that process pid listens at the other end. A socket's name is
// no proof: any process that may write to the directory chooses it.
func listens(conn *net.UnixConn, pid int) error {
	peer, err := peerOf(conn)
	if err != nil {
		return err
	}
	if pid != 0 && peer.pid != pid {
		return fmt.Errorf("%w: %d listens on it, want %d", ErrOtherProcess, peer.pid, pid)
	}
	return nil
}

// peerOf returns the process at the other end.
func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("ask for the peer's credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return peer{}, fmt.Errorf("ask for the peer's credentials: %w", err)
	}
	if credErr != nil {
		return peer{}, fmt.Errorf("ask for the peer's credentials: %w", credErr)
	}
	return peer{pid: int(cred.Pid), uid: int(cred.Uid)}, nil
}

func explainDial(err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: no process listens: it was killed, or its diagnostics server ended: %w", ErrStaleSocket, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the process ended: %w", ErrNoSocket, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run as the process's user (this is uid %d), or with CAP_DAC_OVERRIDE", err, os.Geteuid())
	}
	return err
}
