package dotnetipc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/otelgc/otelgc/internal/proc"
)

// path returns that of a file of pid.
func (p Proc) path(pid int, name string) string {
	root := p.Root
	if root == "" {
		root = "/proc"
	}
	return filepath.Join(root, strconv.Itoa(pid), name)
}

// read reads a file of pid, at most limit bytes.
func (p Proc) read(pid int, name string, limit int64) ([]byte, error) {
	path := p.path(pid, name)
	f, err := os.Open(path)
	if err != nil {
		return nil, p.gone(pid, err)
	}
	defer func() { _ = f.Close() }()
	text, err := readAtMost(f, path, limit)
	if err != nil {
		return nil, p.gone(pid, err)
	}
	return text, nil
}

func readAtMost(r io.Reader, path string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("read %s: more than %d bytes", path, limit)
	}
	return text, err
}

// link returns where a link of pid leads, for the process itself.
func (p Proc) link(pid int, name string) (string, error) {
	to, err := os.Readlink(p.path(pid, name))
	if err != nil {
		return "", p.gone(pid, err)
	}
	return to, nil
}

// gone tells that a process ended from that a file of it cannot be read.
func (p Proc) gone(pid int, err error) error {
	_, statErr := os.Stat(p.path(pid, ""))
	stat, _ := os.ReadFile(p.path(pid, "stat")) // of the kernel, one line
	s, _ := proc.ParseStat(stat)
	if errors.Is(statErr, fs.ErrNotExist) || s.Ended() {
		return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	return err
}
