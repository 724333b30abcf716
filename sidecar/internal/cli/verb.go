// Package cli holds the verbs of otelgc-sidecar: what each takes on its
// command line, what it prints, and its exit code. What is printed is worked out
// elsewhere: gaps in package gaps, blame in blame, files in report.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2 // wrong arguments
	// Unbelievable: it ran, and its numbers cannot be believed.
	Unbelievable = 3
)

const usage = `otelgc-sidecar watches the machine next to a service.

  otelgc-sidecar run    [flags]   probe a CPU, tell the services of this host, export (OTEL_*)
  otelgc-sidecar probe  [flags]   the gaps of this machine, no export
  otelgc-sidecar demo   [flags]   a sample service under load, the probe, the join: who is to blame for p99
  otelgc-sidecar doctor [flags]   can numbers from this machine be believed?
  otelgc-sidecar report [flags] FILE...   what recorded files say of pauses

Each verb takes --json, and --help for its flags. Exit codes: 0 done, 1 failed, 2 wrong arguments,
3 the numbers cannot be believed. A Collector that did not take all that run had to tell does not
make it fail: its last words on standard error say so, and not_exported of the document.
`

// env is what a verb runs in.
type env struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

// verbs maps a name to what it does with the rest of the command line.
var verbs = map[string]func(env, []string) error{
	"run":    run,
	"probe":  probe,
	"demo":   runDemo,
	"report": runReport,
	"doctor": runDoctor,
}

// orderly are the verbs that signals end early, in good order. The others
// leave nothing behind, and may be reading a file that never ends.
var orderly = map[string]bool{"run": true, "probe": true, "demo": true}

// secondAfter is how long after the first signal a second one kills. One that comes
// with the first is no second thought: timeout(1) sends one to the program and one
// to its whole group, and a service manager may do the same.
const secondAfter = time.Second

// Main runs the command line, without the name of the program, and returns the
// exit code. A signal ends a verb early; where that is done in good order, another
// one, [secondAfter] later, kills.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx := context.Background()
	if len(args) > 0 && orderly[args[0]] {
		told, stop := signal.NotifyContext(ctx, ending()...)
		defer stop()
		context.AfterFunc(told, func() { time.AfterFunc(secondAfter, stop) })
		ctx = told
	}
	err := dispatch(env{ctx, stdout, stderr}, args)
	if err != nil {
		complain(stderr, err)
	}
	return exitCode(err)
}

// ending are the signals that end a verb: that the terminal was closed, too, unless
// that is to be outlived, as nohup(1) has it.
func ending() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func complain(stderr io.Writer, err error) {
	_, _ = fmt.Fprintln(stderr, "otelgc-sidecar: "+oneLine(err.Error()))
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return Done
	case errors.As(err, new(wrongArgument)):
		return Wrong
	case errors.As(err, new(unbelievable)):
		return Unbelievable
	}
	return Failed
}

func dispatch(e env, args []string) error {
	if len(args) == 0 {
		return wrong("no verb: want run, probe, demo, report or doctor (see otelgc-sidecar help)")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(e.stdout, usage)
		return err
	}
	v, ok := verbs[args[0]]
	if !ok {
		return wrong("unknown verb %q: want run, probe, demo, report or doctor (see otelgc-sidecar help)", args[0])
	}
	err := v(e, args[1:])
	if errors.Is(err, errHelp) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// wrongArgument is an error of the command line.
type wrongArgument struct{ error }

func (w wrongArgument) Unwrap() error { return w.error }

// unbelievable is an error of numbers that must not be believed.
type unbelievable struct{ error }

func (u unbelievable) Unwrap() error { return u.error }

func wrong(format string, args ...any) error { return wrongArgument{fmt.Errorf(format, args...)} }

// oneLine makes one line of s, without what a terminal takes for a command: it
// may repeat what another program, or a file, says.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
