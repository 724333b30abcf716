package dotnetipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
