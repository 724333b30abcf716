package board

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	dirMode  = 0o755
	fileMode = 0o644
	lockMode = 0o600 // who may open it may lock it, and keep the writer out
)

// createFile makes the file that is to take the place of path, named path.new,
// with all its space, and the lock that makes its owner the only writer.
//
// The lock is on a file of its own, which stays: a lock on the board would be
// on the inode that a new writer replaces.
func createFile(path string, size int64) (file, lock *os.File, err error) {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	if err := replaceable(path); err != nil {
		return nil, nil, err
	}
	lock, err = takeLock(path + ".lock")
	if err != nil {
		return nil, nil, err
	}
	file, err = newFile(path+".new", size)
	if err != nil {
		_ = lock.Close() // nothing was written
		return nil, nil, err
	}
	return file, lock, nil
}

// makeDir makes dir if it is missing, and refuses one that somebody else holds:
// he could put his own file in the place of the board.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		if err := os.Chmod(dir, dirMode); err != nil { // the umask may have taken from it
			return err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %s belongs to uid %d: remove it, or set %s", dir, st.Uid, pathVariable)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("everybody may write directory %s: chmod 0755", dir)
	}
	return nil
}

// replaceable refuses to take the place of a file that is no board, which is
// somebody's. One that a dead writer left is a board.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file (%v): remove it, or name another", ErrForeign, path, info.Mode())
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	head := make([]byte, len(magic))
	if n, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(head[:n]) != magic {
		return fmt.Errorf("%w: %s begins with %q, not with %q: remove it, or name another", ErrForeign, path, head[:n], magic)
	}
	return nil
}

func takeLock(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, lockMode)
	if err != nil {
		return nil, err
	}
	// One that an earlier version made is open to all; who may not change it goes on.
	_ = lock.Chmod(lockMode)
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	_ = lock.Close() // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// newFile makes a file of size zero bytes that takes up all its space at once:
// a full file system should refuse the board, not a record of it.
func newFile(path string, size int64) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // of a writer that died before the rename
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, fileMode)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(fileMode)
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = f.Write(make([]byte, size))
	}
	if err != nil {
		_, _ = f.Close(), os.Remove(path) // the first error counts
		return nil, fmt.Errorf("reserve %d bytes in %s: %w", size, path, err)
	}
	return f, nil
}
