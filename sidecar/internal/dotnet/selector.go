package dotnet

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// Selector says which processes are watched.
type Selector struct {
	text string
	pid  int    // of the one process, 0 otherwise
	name string // of the processes, empty otherwise; neither: all
}

// Parse reads a selector: the number of a process, the name of a program, or
// auto for every .NET process.
func Parse(s string) (Selector, error) {
	switch pid, err := strconv.Atoi(s); {
	case s == "":
		return Selector{}, fmt.Errorf("want the number of a process, the name of a program, or auto")
	case s == "auto":
		return Selector{text: s}, nil
	case err != nil:
		return Selector{text: s, name: s}, nil
	case pid <= 0:
		return Selector{}, fmt.Errorf("%d is no process: want a number above zero", pid)
	default:
		return Selector{text: s, pid: pid}, nil
	}
}

// String returns the selector as it was written.
func (s Selector) String() string { return s.text }

// PID returns the one process that is named by its number, 0 for none.
func (s Selector) PID() int { return s.pid }

// names returns what a process may be called: its program, as the kernel cuts
// it, the file that was started, and what the host "dotnet" runs.
func names(ctx context.Context, proc dotnetipc.Proc, pid int) []string {
	var all []string
	if name, err := proc.Name(pid); err == nil && name != "" {
		all = append(all, name)
	}
	args, err := proc.Arguments(ctx, pid)
	if err != nil || len(args) == 0 {
		return all
	}
	all = append(all, filepath.Base(args[0]))
	if filepath.Base(args[0]) == "dotnet" {
		if dll, ok := assembly(args[1:]); ok {
			all = append(all, dll)
		}
	}
	return all
}

// assembly returns the program among the arguments of the host, without its
// extension: dotnet [exec] [options] shop.dll.
func assembly(args []string) (string, bool) {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, ".dll") })
	if at < 0 {
		return "", false
	}
	return strings.TrimSuffix(filepath.Base(args[at]), ".dll"), true
}

// picks reports whether a process is wanted. Again is the command line of the
// process that was named by its number, once it was seen: a process of the same
// command line is that one, started again.
func (s Selector) picks(ctx context.Context, proc dotnetipc.Proc, pid int, again []string) bool {
	switch {
	case s.pid != 0 && pid == s.pid:
		return true
	case s.pid != 0:
		args, err := proc.Arguments(ctx, pid)
		return err == nil && len(again) > 0 && slices.Equal(args, again)
	case s.name != "":
		return slices.Contains(names(ctx, proc, pid), s.name)
	}
	return true
}
