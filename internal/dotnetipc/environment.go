package dotnetipc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
)

// environment returns the variables of pid that wanted takes, as they were when
// it was executed. The values of all others are secrets and are not kept.
func (p Proc) environment(pid int, wanted func(name string) bool) (map[string]string, error) {
	text, err := p.read(pid, "environ", maxProcFile)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 && !p.executed(pid) {
		return nil, fmt.Errorf("read %s: %w", p.path(pid, "environ"), ErrStarting)
	}
	defer clear(text)
	env := make(map[string]string)
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if !ok || !wanted(string(name)) {
			continue
		}
		if len(env) == maxVariables {
			return nil, fmt.Errorf("read %s: more than %d variables that configure a runtime", p.path(pid, "environ"), maxVariables)
		}
		env[string(name)] = string(value)
	}
	return env, nil
}

// executed reports whether a process has a command line, which no program is without:
// until one that is being executed has its stack, the kernel shows neither that nor its
// environment.
func (p Proc) executed(pid int) bool {
	args, err := p.arguments(pid)
	return err == nil && len(args) > 0
}

// Environment returns the variables of pid that say what its telemetry is
// called and how its collector is configured: OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, TMPDIR, and DOTNET_* and COMPlus_* but for those
// that name what is to be loaded.
func (p Proc) Environment(ctx context.Context, pid int) (map[string]string, error) {
	return Look(ctx, p, pid, func() (map[string]string, error) { return p.configuration(pid) })
}

func (p Proc) configuration(pid int) (map[string]string, error) {
	return p.environment(pid, func(name string) bool {
		switch name {
		case "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "TMPDIR":
			return true
		}
		return configures(name)
	})
}

// configures reports whether a variable configures the collector, tiering or
// diagnostics of a runtime.
func configures(name string) bool {
	rest, ok := strings.CutPrefix(name, "DOTNET_")
	if !ok {
		rest, ok = strings.CutPrefix(name, "COMPlus_")
	}
	if !ok {
		return false
	}
	rest = strings.ToLower(rest)
	for _, prefix := range []string{"gc", "tiered", "tc_", "readytorun", "enablediagnostics", "diagnosticports", "enableeventpipe"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	return false
}

// path returns that of a file of pid.
func (p Proc) path(pid int, name string) string {
	return filepath.Join(p.root(), strconv.Itoa(pid), name)
}

func (p Proc) root() string {
	if p.Root == "" {
		return "/proc"
	}
	return p.Root
}

// FS returns the file system that has the processes under proc.
func (p Proc) FS() fs.FS { return os.DirFS(filepath.Dir(p.root())) }

// Executable returns the path of the program that pid executes, as the kernel has it. A
// thread of the kernel has none.
func (p Proc) Executable(pid int) (string, error) { return p.link(pid, "exe") }

// Program returns what tells the program that pid executes from others, as [proc.Program].
func (p Proc) Program(pid int) ([]byte, error) {
	return proc.Program(p.FS(), filepath.Base(p.root())+"/"+strconv.Itoa(pid))
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

const (
	// maxRuntimeConfig bounds a runtimeconfig.json that is read.
	maxRuntimeConfig = 256 << 10
	// maxKnobs and maxKnobBytes bound what is kept of it.
	maxKnobs     = 128
	maxKnobBytes = 128
)

// RuntimeConfig returns the properties of the runtimeconfig.json of pid's
// program that configure the collector and tiering, such as System.GC.Server.
// The variables of the environment go before them. The error is fs.ErrNotExist
// if the program has no such file: it may be one file with all in it.
func (p Proc) RuntimeConfig(ctx context.Context, pid int) (map[string]string, error) {
	return Look(ctx, p, pid, func() (map[string]string, error) { return p.runtimeConfig(pid) })
}

func (p Proc) runtimeConfig(pid int) (map[string]string, error) {
	path, err := p.runtimeConfigPath(pid)
	if err != nil {
		return nil, fmt.Errorf("find runtimeconfig.json of process %d: %w", pid, err)
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("find runtimeconfig.json of process %d: its path has more than %d bytes", pid, maxPath)
	}
	text, err := readInRoot(p.path(pid, "root"), path, maxRuntimeConfig)
	if err != nil {
		return nil, fmt.Errorf("read %q of process %d: %w", path, pid, err)
	}
	knobs, err := parseRuntimeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("read %q of process %d: %w", path, pid, err)
	}
	return knobs, nil
}

// runtimeConfigPath returns where the file is for the process itself: beside
// the assembly that the host "dotnet" runs, or beside the program.
func (p Proc) runtimeConfigPath(pid int) (string, error) {
	program, err := p.link(pid, "exe")
	if err != nil {
		return "", err
	}
	if filepath.Base(program) == "dotnet" {
		args, err := p.arguments(pid)
		if err != nil {
			return "", err
		}
		if at := slices.Index(args, "--runtimeconfig"); at >= 0 && at+1 < len(args) {
			return p.absolute(pid, args[at+1])
		}
		at := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, ".dll") })
		if at < 0 {
			return "", fmt.Errorf("its arguments name no assembly: %w", fs.ErrNotExist)
		}
		program = strings.TrimSuffix(args[at], ".dll")
	}
	return p.absolute(pid, program+".runtimeconfig.json")
}

// absolute completes a path by the directory that pid is in.
func (p Proc) absolute(pid int, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := p.link(pid, "cwd")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, path), nil
}

// parseRuntimeConfig reads runtimeOptions.configProperties, whose values are
// texts, numbers and booleans.
func parseRuntimeConfig(text []byte) (map[string]string, error) {
	var file struct {
		RuntimeOptions struct {
			ConfigProperties map[string]any `json:"configProperties"`
		} `json:"runtimeOptions"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	knobs := make(map[string]string)
	for name, value := range file.RuntimeOptions.ConfigProperties {
		if !strings.HasPrefix(name, "System.GC.") && !strings.HasPrefix(name, "System.Runtime.Tiered") {
			continue
		}
		text := ""
		switch v := value.(type) {
		case string:
			text = v
		case bool:
			text = strconv.FormatBool(v)
		case float64:
			text = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			continue
		}
		if len(name)+len(text) > maxKnobBytes {
			continue
		}
		if len(knobs) == maxKnobs {
			return nil, errors.New("too many properties")
		}
		knobs[name] = text
	}
	return knobs, nil
}
