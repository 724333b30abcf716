package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// dial connects to the socket of e. The directory is opened inside the
// process's root, so that no symbolic link of a container leads out of it, and
// the socket is reached through the descriptor, whatever its path's length.
func dial(ctx context.Context, e Endpoint) (net.Conn, error) {
	dir, err := openDir(e)
	if err != nil {
		return nil, explainDial(err)
	}
	defer func() { _ = unix.Close(dir) }()
	if err := isSocket(dir, e.Name); err != nil {
		return nil, explainDial(err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(dir)+"/"+e.Name)
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

// exists returns nil if the socket of e is there.
func exists(e Endpoint) error {
	dir, err := openDir(e)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	return isSocket(dir, e.Name)
}

func openDir(e Endpoint) (int, error) {
	return openIn(e.Root, e.Dir, unix.O_PATH|unix.O_DIRECTORY)
}

// openIn opens a path inside a root, wherever the links on the way point.
func openIn(rootPath, path string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC
	root, err := unix.Open(rootPath, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", rootPath, err)
	}
	defer func() { _ = unix.Close(root) }()
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A kernel before 5.6, or a seccomp filter that does not know it.
		fd, err = unix.Openat(root, "."+path, flags, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("open %s in %s: %w", path, rootPath, err)
	}
	return fd, nil
}

// readInRoot reads a plain file inside a root, at most limit bytes.
func readInRoot(root, path string, limit int64) ([]byte, error) {
	fd, err := openIn(root, path, unix.O_RDONLY|unix.O_NONBLOCK) // a pipe of that name holds nobody up
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	return readAtMost(f, path, limit)
}

func isSocket(dir int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return fmt.Errorf("%s is no socket", name)
	}
	return nil
}

// listens checks that pid is who listens at the other end. A socket's name is
// no proof: whoever may write to the directory chooses it.
func listens(conn *net.UnixConn, pid int) error {
	peer, err := peerPID(conn)
	if err != nil {
		return err
	}
	if pid != 0 && peer != pid {
		return fmt.Errorf("%w: %d listens on it, want %d", ErrOtherProcess, peer, pid)
	}
	return nil
}

// peerPID returns the process at the other end as it was when it listened or
// connected, in this process's pid namespace; 0 if it cannot be seen from here.
func peerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("ask who is at the other end: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("ask who is at the other end: %w", err)
	}
	if credErr != nil {
		return 0, fmt.Errorf("ask who is at the other end: %w", credErr)
	}
	return int(cred.Pid), nil
}

func explainDial(err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: nobody listens: the process was killed, or its diagnostics server ended: %w", ErrStaleSocket, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the process ended: %w", ErrNoSocket, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run as the process's user (this is uid %d), or with CAP_DAC_OVERRIDE", err, os.Geteuid())
	}
	return err
}
