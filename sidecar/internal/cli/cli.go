// Package cli is the command line of otelgc-sidecar: its commands, their flags and
// the exit code. What a command prints is worked out elsewhere: gaps in package gaps,
// blame in blame, files in report, the machine in doctor.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// Exit codes.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2 // wrong arguments
	// Unbelievable: it ran, and its numbers cannot be believed.
	Unbelievable = 3
)

// command is a command of otelgc-sidecar.
type command struct {
	name, operands, summary string
	// stops is set if a signal ends the command early, in good order. The others leave
	// nothing behind, and may be reading a file that never ends.
	stops bool
	// define defines the flags, and returns what runs the command when they are parsed.
	define func(*flag.FlagSet) func(env) error
}

var commands = []command{
	{"run", "", "probe a CPU, show its gaps to the services of this host, export them (OTEL_*)", true, defineRun},
	{"probe", "", "print the gaps of this machine, and export nothing", true, defineProbe},
	{"demo", "", "run a sample service under load, and print who is to blame for its p99", true, defineDemo},
	{"doctor", "", "print whether numbers from this machine can be believed", false, defineDoctor},
	{"report", " FILE...", "print what recorded files say of pauses", false, defineReport},
	{"version", "", "print the version, and what the kernel lets it do", false, defineVersion},
}

func printUsage(w io.Writer) error {
	var b strings.Builder
	b.WriteString("otelgc-sidecar watches the machine next to a service.\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  otelgc-sidecar %-24s %s\n", c.name+" [flags]"+c.operands, c.summary)
	}
	b.WriteString(`  otelgc-sidecar help [COMMAND]           print this, or the flags of a command
  otelgc-sidecar completion SHELL         print what completes all this in bash, zsh or fish
  otelgc-sidecar man                      print all this as a manual page

Each command takes --json, and --help for its flags. Exit codes: 0 done, 1 failed, 2 wrong arguments,
3 the numbers cannot be believed. If not all telemetry of run could be exported, it still exits with 0:
the end of its log says what is missing, and so does not_exported of its document.
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// env is what a command runs in.
type env struct {
	ctx            context.Context
	stdout, stderr io.Writer
	flags          *flag.FlagSet // parsed
	files          []string
	json           *bool // print one JSON document
}

// given reports whether a flag was on the command line.
func (e env) given(name string) bool {
	found := false
	e.flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// notEmpty refuses flags that were given without a value, as --target "$PID" in a
// script without a PID: the command must not run as if the flag were absent.
func (e env) notEmpty(names ...string) error {
	for _, name := range names {
		if f := e.flags.Lookup(name); e.given(name) && f.Value.String() == "" {
			kind, _ := flag.UnquoteUsage(f)
			return wrong("--%s: want %s, got nothing", name, kind)
		}
	}
	return nil
}

// print prints the document as JSON if that was asked for, else the text.
func (e env) print(document func() any, text func(io.Writer) error) error {
	if !*e.json {
		return text(e.stdout)
	}
	out := json.NewEncoder(e.stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(document()); err != nil {
		return fmt.Errorf("print document: %w", err)
	}
	return nil
}

// wait returns after d, or when the command is to end. Zero is for ever.
func (e env) wait(d time.Duration) {
	ctx := e.ctx
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	<-ctx.Done()
}

// secondAfter is how long after the first signal a second one kills. A second signal
// that comes with the first does not mean more: timeout(1) sends one to the program and
// one to its whole group, and a service manager may do the same.
const secondAfter = time.Second

// Main runs the command line, without the name of the program, and returns the
// exit code. A signal ends a command early; where that is done in good order, another
// one, [secondAfter] later, kills.
func Main(args []string, stdout, stderr io.Writer) int {
	e := env{ctx: context.Background(), stdout: stdout, stderr: stderr}
	err := dispatch(e, args)
	if err != nil {
		complain(stderr, err)
	}
	return exitCode(err)
}

func dispatch(e env, args []string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	last := len(names) - 1
	list := strings.Join(names[:last], ", ") + " or " + names[last]
	if len(args) == 0 {
		return wrong("no command: want %s (see otelgc-sidecar help)", list)
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) == 0 {
			return printUsage(e.stdout)
		}
		name, args = args[0], []string{"--help"}
	case "completion":
		return printCompletion(e.stdout, args)
	case "man":
		return printManual(e.stdout)
	case "-version", "--version":
		name = "version"
	}
	i := slices.Index(names, name)
	if i < 0 {
		return wrong("unknown command %q: want %s (see otelgc-sidecar help)", name, list)
	}
	if err := commands[i].run(e, args); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// defineFlags defines the flags of c, and returns what runs it.
func (c *command) defineFlags(set *flag.FlagSet) (run func(env) error, json *bool) {
	json = set.Bool("json", false, "print one JSON document")
	return c.define(set), json
}

func (c *command) run(e env, args []string) error {
	e.flags = flag.NewFlagSet(c.name, flag.ContinueOnError)
	e.flags.SetOutput(io.Discard)
	e.flags.Usage = func() {}
	run, json := c.defineFlags(e.flags)
	e.json = json
	files, err := c.parse(e.flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return c.printHelp(e.stdout, e.flags)
	}
	if err != nil {
		return err
	}
	e.files = files
	if c.stops {
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) { // nohup(1) outlives its terminal
			signals = append(signals, syscall.SIGHUP)
		}
		ctx, stop := signal.NotifyContext(e.ctx, signals...)
		defer stop()
		context.AfterFunc(ctx, func() { time.AfterFunc(secondAfter, stop) })
		e.ctx = ctx
	}
	return run(e)
}

// parse parses flags, and names of files between them where the command takes those.
func (c *command) parse(set *flag.FlagSet, args []string) (files []string, err error) {
	for {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, wrong("%s (see otelgc-sidecar %s --help)", explain(set, err), c.name)
		}
		rest := set.Args()
		if len(rest) == 0 {
			break
		}
		if c.operands == "" {
			return nil, wrong("argument %q is not wanted (see otelgc-sidecar %s --help)", rest[0], c.name)
		}
		// flag stops at the first name, and behind "--" for good.
		if at := len(args) - len(rest); at > 0 && args[at-1] == "--" {
			files = append(files, rest...)
			break
		}
		files, args = append(files, rest[0]), rest[1:]
	}
	if c.operands != "" && len(files) == 0 {
		return nil, wrong("no FILE: name a Go trace, a .nettrace file or a recording (see otelgc-sidecar %s --help)", c.name)
	}
	return files, nil
}

// printHelp prints the flags as they are written, with two dashes.
func (c *command) printHelp(w io.Writer, set *flag.FlagSet) error {
	var text strings.Builder
	set.SetOutput(&text)
	if f := set.Lookup("cpu"); f != nil {
		f.DefValue = "0" // which is not printed; -1 is none
	}
	set.PrintDefaults()
	_, err := fmt.Fprintf(w, "otelgc-sidecar %s [flags]%s: %s\n%s", c.name, c.operands, c.summary,
		strings.ReplaceAll("\n"+text.String(), "\n  -", "\n  --"))
	return err
}

// twoDashes has the errors of package flag name flags as the other messages do.
var twoDashes = strings.NewReplacer(
	"flag provided but not defined: -", "unknown flag --",
	"flag needs an argument: -", "no value for flag --",
	" for flag -", " for flag --", // invalid value "x" for flag -cpu: parse error
	" for -", " for --", // invalid boolean value "x" for -json: parse error
)

// explain returns the text of an error of package flag, with what the flag takes where
// package flag says only that it could not parse the value.
func explain(set *flag.FlagSet, err error) string {
	text := twoDashes.Replace(err.Error())
	what, is := strings.CutSuffix(text, ": parse error")
	if !is {
		return text
	}
	f := set.Lookup(what[strings.LastIndex(what, "--")+len("--"):])
	if f == nil {
		return text
	}
	kind, _ := flag.UnquoteUsage(f)
	switch f.Value.(flag.Getter).Get().(type) {
	case time.Duration:
		kind = "a time such as 10s or 1m30s"
	case int, uint:
		kind = "a whole number"
	case float64:
		kind = "a number"
	case bool:
		kind = "true or false"
	}
	return what + ": want " + kind
}

// exitError is an error with an exit code other than Failed.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return exitError{fmt.Errorf(format, args...), Wrong} }

func exitCode(err error) int {
	if err == nil {
		return Done
	}
	e := exitError{code: Failed}
	errors.As(err, &e)
	return e.code
}

// complain prints err on one line, without control characters: it may quote another
// program, or a file.
func complain(stderr io.Writer, err error) {
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	_, _ = fmt.Fprintln(stderr, "otelgc-sidecar: "+textfmt.Printable(text))
}
