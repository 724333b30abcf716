package goprocess

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Variables are all that is kept of the environment of a process: what configures
// the runtime as it starts. The others are secrets.
var Variables = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"}

const (
	// MaxValue bounds the value of a variable. A longer one is kept cut, one byte
	// longer than that.
	MaxValue = 256
	// maxEntry is longer than a name with its value may be, and maxEnvironment
	// bounds what is read of all.
	maxEntry       = 4 << 10
	maxEnvironment = 8 << 20
)

// environment returns the Variables that a process was executed with.
func environment(root fs.FS, pid int) (map[string]string, error) {
	f, err := open(root, file(pid, "environ"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	env, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("read /%s: %w", file(pid, "environ"), err)
	}
	return env, nil
}

// parse reads entries of name=value between zeros, a few at a time: what is not
// wanted does not stay in memory. Of two of one name the first counts, as it does
// for the runtime.
func parse(in io.Reader) (map[string]string, error) {
	limited := &io.LimitedReader{R: in, N: maxEnvironment + 1}
	r := bufio.NewReaderSize(limited, maxEntry)
	env := make(map[string]string)
	for {
		entry, err := r.ReadSlice(0)
		name, value, ok := bytes.Cut(bytes.TrimSuffix(entry, []byte{0}), []byte{'='})
		if _, twice := env[string(name)]; ok && !twice && slices.Contains(Variables, string(name)) {
			env[string(name)] = string(value[:min(len(value), MaxValue+1)])
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice(0)
		}
		switch {
		case limited.N == 0:
			return nil, fmt.Errorf("longer than %d bytes", maxEnvironment)
		case errors.Is(err, io.EOF):
			return env, nil
		case err != nil:
			return nil, err
		}
	}
}
