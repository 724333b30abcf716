package board

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFile opens a board to read. It follows no link, waits for no pipe, and
// asks the open file, not the path, whose it is.
func openFile(path string, uid int) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w (does otelgc-sidecar run on this host, and is the directory mounted here?)", err)
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, 0, fmt.Errorf("%w: %s is a symbolic link: remove it", ErrForeign, path)
	}
	if err != nil {
		return nil, 0, err
	}
	size, err := trusted(f, uid)
	if err != nil {
		_ = f.Close() // read only
		return nil, 0, err
	}
	return f, size, nil
}

// trusted checks that f is a regular file of root or of uid, and that nobody
// else may write it.
func trusted(f *os.File, uid int) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%w: %s is not a regular file (%v): remove it", ErrForeign, f.Name(), info.Mode())
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%w: %s: owner cannot be told", ErrForeign, f.Name())
	}
	if st.Uid != 0 && int(st.Uid) != uid {
		return 0, fmt.Errorf("%w: %s belongs to uid %d, want root or %d: remove it, or set %s", ErrForeign, f.Name(), st.Uid, uid, pathVariable)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return 0, fmt.Errorf("%w: others may write %s (%v): chmod 0644", ErrForeign, f.Name(), info.Mode().Perm())
	}
	return info.Size(), nil
}

// movedAway reports whether path names another file than f by now. While it
// names none, f is all there is.
func movedAway(f *os.File, path string) bool {
	now, err := os.Lstat(path)
	if err != nil {
		return false
	}
	was, err := f.Stat()
	return err == nil && !os.SameFile(was, now)
}
