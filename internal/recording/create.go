package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create begins a recording in a file that must not exist.
func Create(path string, e Environment) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create recording %s: %w: name another, or remove it", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	return begun(newWriter(f, e), path)
}

// begun returns w if its beginning is in the file. A file without one is of no use,
// and would be in the way of the next attempt: it is taken away.
func begun(w *Writer, path string) (*Writer, error) {
	syncDir(filepath.Dir(path))
	err := w.Err()
	if err == nil {
		return w, nil
	}
	_ = w.Close() // it repeats err
	return nil, errors.Join(err, os.Remove(path))
}

// syncDir puts the file's name on the disk. Not every file system can do that for
// a directory, and none that cannot is told of: the recording goes on.
func syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
