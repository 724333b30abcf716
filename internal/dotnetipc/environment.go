package dotnetipc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
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
