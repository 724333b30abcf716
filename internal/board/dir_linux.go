package board

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const dirMode = 0o755

// A dir is an open directory whose path only root and this user can change: no
// component of it is a symbolic link, and none belongs to or can be written by
// another user. What is done in it is done by names relative to it, so that it
// does not matter what becomes of the path.
type dir struct {
	file *os.File // opened with O_PATH
	path string
}

// openDir opens the directory at path, component by component from the root on.
// With make it makes those that are missing, mode 0755.
//
// Every component must belong to root or this user, and only the owner may write
// it. A sticky directory is as good on the way, because no other user can replace an
// entry of root's or of this user's in it. The last component has no such excuse:
// any user could put the lock or another board there.
func openDir(path string, make bool) (*dir, error) {
	full, err := absolute(path)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	d := &dir{os.NewFile(uintptr(fd), "/"), "/"}
	for name := range strings.SplitSeq(full[1:], "/") {
		if name == "" { // of the root itself
			break
		}
		next, err := d.enter(name, make)
		_ = d.Close() // O_PATH: nothing was written
		if err != nil {
			return nil, err
		}
		d = next
	}
	if err := d.check(true); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// absolute asks the kernel for the working directory: $PWD may lead through links.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	wd, err := unix.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if !filepath.IsAbs(wd) { // "(unreachable)"
		return "", fmt.Errorf("%s: the working directory is outside of the root: name an absolute path", path)
	}
	return filepath.Join(wd, path), nil
}

// enter checks d as a directory on the way, and opens the directory name in it.
func (d *dir) enter(name string, make bool) (*dir, error) {
	if err := d.check(false); err != nil {
		return nil, err
	}
	f, err := d.openFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if make && errors.Is(err, unix.ENOENT) {
		f, err = d.makeDir(name)
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, d.noDirectory(name)
	}
	if err != nil {
		return nil, err
	}
	return &dir{f, f.Name()}, nil
}

// makeDir makes the directory name and opens it.
func (d *dir) makeDir(name string) (*os.File, error) {
	err := unix.Mkdirat(d.fd(), name, dirMode)
	if errors.Is(err, unix.EEXIST) { // made by another writer meanwhile
		return d.openFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: filepath.Join(d.path, name), Err: err}
	}
	f, err := d.openFile(name, unix.O_RDONLY|unix.O_DIRECTORY, 0) // O_PATH allows no fchmod
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(dirMode); err != nil { // the umask may have taken from it
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// noDirectory says why name cannot be entered.
func (d *dir) noDirectory(name string) error {
	path := filepath.Join(d.path, name)
	if st, err := d.stat(name); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("%w: %s is a symbolic link: remove it", ErrForeign, path)
		}
		return fmt.Errorf("%w: %s is a symbolic link to %s, and none is followed: name that, or remove the link", ErrForeign, path, real)
	}
	return fmt.Errorf("%w: %s is not a directory", ErrForeign, path)
}

// check holds d to its owner and its mode.
func (d *dir) check(last bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if err := owned("directory "+d.path, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&writable == 0:
	case st.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%w: not only its owner may write directory %s (mode %04o): chmod go-w", ErrForeign, d.path, st.Mode&0o7777)
	case last:
		return fmt.Errorf("%w: not only its owner may write directory %s (mode %04o): name a directory below it", ErrForeign, d.path, st.Mode&0o7777)
	}
	return nil
}

// openFile opens name in d. It follows no link and waits for no pipe.
func (d *dir) openFile(name string, flags int, mode uint32) (*os.File, error) {
	path := filepath.Join(d.path, name)
	for {
		fd, err := unix.Openat(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// stat returns what name in d is; of a link, the link.
func (d *dir) stat(name string) (st unix.Stat_t, err error) {
	if err = unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		err = &fs.PathError{Op: "stat", Path: filepath.Join(d.path, name), Err: err}
	}
	return st, err
}

// rename moves from over to, both in d.
func (d *dir) rename(from, to string) error {
	if err := unix.Renameat(d.fd(), from, d.fd(), to); err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(d.path, from), New: filepath.Join(d.path, to), Err: err}
	}
	return nil
}

// remove removes the file name from d. None there is no error.
func (d *dir) remove(name string) error {
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "remove", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

func (d *dir) fd() int { return int(d.file.Fd()) }

// Close gives the descriptor back.
func (d *dir) Close() error { return d.file.Close() }
