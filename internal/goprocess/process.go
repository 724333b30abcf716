// Package goprocess says what can be known from outside of a process whose program
// is Go: what it was built with, by its executable; what it was started with, by
// its environment; and the GOMAXPROCS that follows, by the rule of the runtime
// (runtime.GOMAXPROCS, "default"). What the program sets while it runs, and its
// collections and stops, cannot be seen from there.
//
// Executable and environment are of somebody else's making: no more than a bounded
// part of either is read, and of the environment nothing is kept but [Variables].
package goprocess

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
)

// ErrNotGo says that a process runs another kind of program.
var ErrNotGo = errors.New("no Go program")

// Process is what a Go program was built and started with.
type Process struct {
	Version    string // the release, such as go1.26.1
	Experiment string // GOEXPERIMENT that it was built with, empty for none
	// Program is the path of the main package, Module that of its module, and
	// ModuleVersion the version of that; empty is not known.
	Program, Module, ModuleVersion string
	// Settings are those of the build, such as GOARCH, -race and DefaultGODEBUG
	// (runtime/debug.BuildSetting).
	Settings map[string]string
	// Env has which of Variables were set when it was executed. What the program
	// has changed since is its own affair. It is nil if EnvErr says why.
	Env    map[string]string
	EnvErr error
}

// Read looks at a process below root, which is os.DirFS("/") but in tests. The
// error is that of the file system, or ErrNotGo. It does not come back where the file
// system or the memory of the process never answers: see package hungcall.
func Read(root fs.FS, pid int) (*Process, error) {
	f, err := open(root, file(pid, "exe"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	exe, ok := f.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("read /%s at an offset: %w", file(pid, "exe"), errors.ErrUnsupported)
	}
	p, err := built(exe)
	if err != nil {
		return nil, err
	}
	p.Env, p.EnvErr = environment(root, pid)
	return p, nil
}

// open has errors name the file as people know it.
func open(root fs.FS, name string) (fs.File, error) {
	f, err := root.Open(name)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return nil, &fs.PathError{Op: e.Op, Path: "/" + name, Err: e.Err}
	}
	return f, err
}

func file(pid int, name string) string { return "proc/" + strconv.Itoa(pid) + "/" + name }
