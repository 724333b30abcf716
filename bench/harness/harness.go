// Package harness is what all measurements share: how one is started and writes
// its page, how it pins CPUs and starts processes of its own, and its statistics.
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Experiment is a measurement that the command line can name.
type Experiment struct {
	Name   string // on the command line, and of its page
	Title  string
	Answer string // the question that it answers
	Measurement
}

// Measurement is what one experiment does.
type Measurement interface {
	// Flags defines the flags.
	Flags(*flag.FlagSet)
	// Measure writes the page. With ErrUnmet the page is written, too.
	Measure(context.Context, *Page) error
}

// Keeper is a measurement that keeps figures beside its page.
type Keeper interface {
	// KeepIn says in which directory the page will be. It comes before Flags.
	KeepIn(dir string)
}

// ErrUnmet means that a figure is outside of its bounds.
var ErrUnmet = errors.New("bounds not met")

// Run runs e with its arguments. The page goes to out, its log to log.
func (e Experiment) Run(ctx context.Context, args []string, out, log io.Writer) error {
	f := flag.NewFlagSet(e.Name, flag.ContinueOnError)
	f.SetOutput(log)
	e.Flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	p := NewPage(e.Title, strings.Join(append([]string{e.Name}, args...), " "), log)
	err := e.Measure(ctx, p)
	if err != nil && !errors.Is(err, ErrUnmet) {
		return err
	}
	_, writeErr := io.WriteString(out, p.String())
	return errors.Join(err, writeErr)
}

// Wait returns after d, or with the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BuildSidecar builds otelgc-sidecar into dir, and returns the path of the binary.
func BuildSidecar(ctx context.Context, dir string) (string, error) {
	return Build(ctx, "github.com/otelgc/otelgc", "./sidecar", filepath.Join(dir, "otelgc-sidecar"))
}

// Build builds a command of a module, and returns path, where its binary is.
func Build(ctx context.Context, module, command, path string) (string, error) {
	dir, err := ModuleDir(ctx, module)
	if err != nil {
		return "", err
	}
	return path, BuildIn(ctx, dir, command, path)
}

// ModuleDir returns the directory of a module that this one needs, or is.
func ModuleDir(ctx context.Context, module string) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(dir)), nil
}

// BuildIn builds a command of the module in dir to path, with more flags.
func BuildIn(ctx context.Context, dir, command, path string, flags ...string) error {
	args := append([]string{"build", "-C", dir, "-buildvcs=false", "-o", path}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, command)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return nil
}

// TempDir makes a directory and removes it after f.
func TempDir(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "otelgc-bench-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}
