// Package goprogram reads what a Go program of another process was built and started
// with, from its executable and its environment.
//
// Both are made by others: no more than a bounded part is read, and of an
// environment nothing is kept but [Variables].
package goprogram

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/proc"
)

var (
	// ErrNotGo says that a process runs another kind of program.
	ErrNotGo = errors.New("no Go program")
	// ErrStarting says that a process is being executed: until the new program has its
	// stack, the kernel shows neither what is in its environment nor its command line.
	ErrStarting = errors.New("it is only being executed")
)

// Program is what a Go program was built and started with. What it sets while it
// runs, and its collections and stops, cannot be seen from outside.
type Program struct {
	Version    string // the release, such as go1.26.1
	Experiment string // GOEXPERIMENT that it was built with, empty for none
	// Path is that of the main package, Module that of its module, and
	// ModuleVersion the version of that; empty is not known.
	Path, Module, ModuleVersion string
	// Instrumented says that the package otelgc is linked: the program may export its
	// collections itself.
	Instrumented bool
	// Settings are those of the build, such as GOARCH, -race and DefaultGODEBUG
	// (runtime/debug.BuildSetting).
	Settings map[string]string
	// Env has which of Variables were set when it was executed. It is nil if EnvErr
	// says why.
	Env    map[string]string
	EnvErr error
}

// Read looks at a process: at its executable and its environment. The error is that
// of the file system, or ErrNotGo. It does not come back where the file system or the
// memory of the process never answers: see package hungcall.
func Read(root fs.FS, pid int) (*Program, error) {
	dir := "proc/" + strconv.Itoa(pid)
	f, err := proc.Open(root, dir+"/exe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	exe, ok := f.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("read /%s/exe at an offset: %w", dir, errors.ErrUnsupported)
	}
	p, err := ReadExecutable(exe)
	if err != nil {
		return nil, err
	}
	p.Env, p.EnvErr = environment(root, dir)
	return p, nil
}

// Environment returns the Variables that a process was executed with.
func Environment(root fs.FS, pid int) (map[string]string, error) {
	return environment(root, "proc/"+strconv.Itoa(pid))
}

// ownModule is that of the package otelgc.
const ownModule = "github.com/otelgc/otelgc"

// Built returns what a program was built with.
func Built(info *debug.BuildInfo) *Program {
	p := &Program{Path: info.Path, Module: info.Main.Path, ModuleVersion: info.Main.Version, Settings: make(map[string]string)}
	for _, s := range info.Settings {
		p.Settings[s.Key] = s.Value
	}
	p.Instrumented = p.Module == ownModule || slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == ownModule })
	p.Version, p.Experiment, _ = strings.Cut(info.GoVersion, " X:") // "go1.26.8 X:nodwarf5"
	p.Experiment = cmp.Or(p.Settings["GOEXPERIMENT"], p.Experiment)
	return p
}

// buildSettings are those of a build that change how a program runs, or name what
// it was built of. Others, such as -ldflags, may hold secrets.
var buildSettings = []string{
	"GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOARM", "GO386", "CGO_ENABLED", "-buildmode", "-compiler",
	"-race", "-msan", "-asan", "-pgo", "vcs.revision", "vcs.modified",
}

// Build says in one line what the program was built of, and for what. What is
// absurdly long is left out; it is empty if nothing is known.
func (p *Program) Build() string {
	var words []string
	add := func(word string) {
		if word != "" && len(word) <= MaxValue {
			words = append(words, word)
		}
	}
	if p.Path != p.Module {
		add(p.Path)
	}
	add(strings.TrimSpace(p.Module + " " + p.ModuleVersion))
	for _, name := range buildSettings {
		switch value := p.Settings[name]; {
		case value == "":
		case name == "-pgo": // the path of a profile on another machine
			add(name)
		default:
			add(name + "=" + value)
		}
	}
	return strings.Join(words, ", ")
}

// Procs returns the GOMAXPROCS that p begins with on so many CPUs and under a
// quota of its own cgroup, 0 for none (runtime.GOMAXPROCS, "default").
func (p *Program) Procs(cpus int, quota float64) int {
	if n, set := p.SetProcs(); set {
		return n
	}
	if quota > 0 && p.HeedsQuota() {
		return min(cpus, max(2, int(math.Ceil(min(quota, math.MaxInt32)))))
	}
	return cpus
}

// SetProcs returns the GOMAXPROCS that the environment says, if it says one that
// the runtime takes.
func (p *Program) SetProcs() (int, bool) {
	n, err := strconv.ParseInt(p.Env["GOMAXPROCS"], 10, 32)
	return int(n), err == nil && n > 0
}

// HeedsQuota reports whether the runtime takes the quota of its cgroup into
// account: since Go 1.25, unless GODEBUG has containermaxprocs=0, in the
// environment or as the program was built.
func (p *Program) HeedsQuota() bool {
	debug := p.Settings["DefaultGODEBUG"]
	if e := p.Env["GODEBUG"]; strings.Contains(e, "containermaxprocs=") {
		debug = e
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(p.Version, "devel "), " ") // "devel go1.27-5401ec7 Sun Nov"
	return version.Compare(release, "go1.25") >= 0 && !strings.Contains(debug, "containermaxprocs=0")
}

// Quota returns the quota of a process's own cgroup, 0 for none: the runtime looks
// at no ancestor (runtime, cgroup_linux.go). The error is cgroup.ErrUnseen if that
// cgroup cannot be seen from here.
func Quota(root fs.FS, process string) (float64, error) {
	own, err := cgroup.Own(root, process)
	if errors.Is(err, cgroup.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	q, err := own.Quota(root)
	return q.CPUs, err
}

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

// environment returns the Variables that the process with a directory was executed
// with.
func environment(root fs.FS, dir string) (map[string]string, error) {
	f, err := proc.Open(root, dir+"/environ")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewReaderSize(f, maxEntry)
	if _, err = in.Peek(1); errors.Is(err, io.EOF) {
		// The kernel gives no program an empty command line.
		if line, err := proc.Read(root, dir+"/cmdline"); err != nil || len(line) == 0 {
			return nil, fmt.Errorf("read /%s/environ: %w", dir, ErrStarting)
		}
	}
	env, err := parseEnvironment(in)
	if err != nil {
		return nil, fmt.Errorf("read /%s/environ: %w", dir, err)
	}
	return env, nil
}

// parseEnvironment reads entries of name=value between zeros, a few at a time: what is
// not wanted does not stay in memory. Of two of one name the first counts, as it does
// for the runtime.
func parseEnvironment(in io.Reader) (map[string]string, error) {
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
