package board

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// openBoard opens a board to read. It asks the open file, not the path, whose it is.
func openBoard(path string) (*os.File, int64, error) {
	f, err := openInDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w (does otelgc-sidecar run on this host, and is the directory mounted here?)", err)
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, 0, fmt.Errorf("%w: %s is a symbolic link: remove it", ErrForeign, path)
	}
	if err != nil {
		return nil, 0, err
	}
	size, err := trusted(f, os.Geteuid())
	if err != nil {
		_ = f.Close() // read only
		return nil, 0, err
	}
	return f, size, nil
}

func openInDir(path string) (*os.File, error) {
	d, err := openDir(filepath.Dir(path), false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // O_PATH: nothing was written
	return d.openFile(filepath.Base(path), unix.O_RDONLY, 0)
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
		return 0, fmt.Errorf("%w: %s belongs to uid %d, want root%s: remove it, or set %s", ErrForeign, f.Name(), st.Uid, orUser(uid), pathVariable)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return 0, fmt.Errorf("%w: others may write %s (%v): chmod 0644", ErrForeign, f.Name(), info.Mode().Perm())
	}
	return info.Size(), nil
}
