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

// ErrStarting says that a process is being executed: until the new program has its
// stack, the kernel shows neither what is in its environment nor its command line.
var ErrStarting = errors.New("it is only being executed")

// environment returns the Variables that a process was executed with.
func environment(root fs.FS, pid int) (map[string]string, error) {
	f, err := open(root, file(pid, "environ"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewReaderSize(f, maxEntry)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) && !executed(root, pid) {
		return nil, fmt.Errorf("read /%s: %w", file(pid, "environ"), ErrStarting)
	}
	env, err := parse(in)
	if err != nil {
		return nil, fmt.Errorf("read /%s: %w", file(pid, "environ"), err)
	}
	return env, nil
}

// executed reports whether a process has a command line: the kernel gives no program
// none.
func executed(root fs.FS, pid int) bool {
	f, err := open(root, file(pid, "cmdline"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	n, _ := io.ReadFull(f, make([]byte, 1))
	return n > 0
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
