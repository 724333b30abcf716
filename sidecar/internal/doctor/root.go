package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// Limits of what is read.
const (
	maxFile    = 1 << 20
	maxEntries = 1 << 14 // of a directory
	maxCPUs    = 1 << 13 // CONFIG_NR_CPUS of the largest distribution kernels
)

// root is the root of the file system, of a fake machine in tests.
type root struct{ fs.FS }

// bytes returns a file of at most limit bytes.
func (r root) bytes(name string, limit int) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("longer than %d bytes", limit)
	}
	return data, nil
}

// text returns a file without the space around it.
func (r root) text(name string) (string, error) {
	data, err := r.bytes(name, maxFile)
	return strings.TrimSpace(string(data)), err
}

// number returns a file that holds one whole number.
func (r root) number(name string) (int64, error) {
	text, err := r.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("holds %.20q, not a number", text)
	}
	return n, nil
}

// list returns the names in a directory, at most maxEntries of them.
func (r root) list(name string) ([]string, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("not a directory")
	}
	entries, err := dir.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// field returns the value of one line of a file of "Name: value" lines, such
// as /proc/PID/status. It reports false if there is no such line.
func field(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// bracketed returns the choice in force in a file such as
// "always [madvise] never", or all of it.
func bracketed(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		if in, _, ok := strings.Cut(rest, "]"); ok {
			return in
		}
	}
	return text
}
