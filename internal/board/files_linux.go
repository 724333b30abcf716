package board

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	fileMode = 0o644
	lockMode = 0o600 // a process that may open it may lock it, and keep the writer out
)

// files are what a writer has open: the board, the lock that makes it the only
// writer, and the directory of both.
//
// The lock is on a file of its own, which stays: a lock on the board would be
// on the inode that a new writer replaces.
type files struct {
	board, lock *os.File
	dir         *dir
	name        string // of the board; until publish it has newName
}

// createFiles makes the file that is to take the place of path, with all its
// space, and takes the lock.
func createFiles(path string, size int64) (f *files, err error) {
	f = &files{name: filepath.Base(path)}
	if f.dir, err = openDir(filepath.Dir(path), true); err != nil {
		return nil, err
	}
	err = f.dir.replaceable(f.name)
	if err == nil {
		f.lock, err = f.dir.takeLock(f.name + ".lock")
	}
	if err == nil {
		f.board, err = f.dir.newFile(f.newName(), size)
	}
	if err != nil {
		_ = f.close() // nothing was written
		return nil, err
	}
	return f, nil
}

func (f *files) newName() string { return f.name + ".new" }

// publish gives the board its name.
func (f *files) publish() error { return f.dir.rename(f.newName(), f.name) }

// remove takes the published board away.
func (f *files) remove() error { return f.dir.remove(f.name) }

// discard takes a board away that was not published.
func (f *files) discard() error { return errors.Join(f.dir.remove(f.newName()), f.close()) }

// close closes all, the lock last: from there on the name is another writer's.
func (f *files) close() error {
	var errs []error
	if f.board != nil {
		errs = append(errs, f.board.Close())
	}
	errs = append(errs, f.dir.Close())
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}

// replaceable refuses to take the place of a file that is no board: another
// program may need it. One that a dead writer left is a board.
func (d *dir) replaceable(name string) error {
	path := filepath.Join(d.path, name)
	st, err := d.stat(name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%w: %s is not a regular file: remove it, or name another", ErrForeign, path)
	}
	if st.Size == 0 {
		return nil
	}
	f, err := d.openFile(name, unix.O_RDONLY, 0)
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

func (d *dir) takeLock(name string) (*os.File, error) {
	lock, err := d.openFile(name, unix.O_RDWR|unix.O_CREAT, lockMode)
	if err != nil {
		return nil, err
	}
	// One that an earlier version made is open to all. If this fails, that one stays as it is.
	_ = lock.Chmod(lockMode)
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	_ = lock.Close() // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
}

// newFile makes a file of size zero bytes that takes up all its space at once:
// a full file system should refuse the board, not a record of it.
func (d *dir) newFile(name string, size int64) (*os.File, error) {
	if err := d.remove(name); err != nil {
		return nil, err // of a writer that died before the rename
	}
	f, err := d.openFile(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, fileMode)
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
		_, _ = f.Close(), d.remove(name) // the first error counts
		return nil, fmt.Errorf("reserve %d bytes in %s: %w", size, f.Name(), err)
	}
	return f, nil
}

// openBoard opens a board to read. Its owner is that of the open file, not of the path.
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
	size, err := trusted(f)
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

// trusted checks that f is a regular file of root or of this user, and that no
// other user may write it.
func trusted(f *os.File) (size int64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, fmt.Errorf("%w: %s is not a regular file: remove it", ErrForeign, f.Name())
	}
	if err := owned(f.Name(), &st); err != nil {
		return 0, err
	}
	if st.Mode&writable != 0 {
		return 0, fmt.Errorf("%w: others may write %s (mode %04o): chmod 0644", ErrForeign, f.Name(), st.Mode&0o7777)
	}
	return st.Size, nil
}

// writable are the bits of a mode that let others than the owner write.
const writable = 0o022

// owned refuses what belongs neither to root nor to this user.
func owned(what string, st *unix.Stat_t) error {
	me := os.Geteuid()
	if st.Uid == 0 || int(st.Uid) == me {
		return nil
	}
	or := ""
	if me != 0 {
		or = fmt.Sprintf(" or %d", me)
	}
	return fmt.Errorf("%w: %s belongs to uid %d, want root%s: remove it, or set %s", ErrForeign, what, st.Uid, or, pathVariable)
}
