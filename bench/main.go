// Command bench measures otelgc, and writes the pages of docs/accuracy:
//
//	go run . [-o DIR] [NAME [FLAGS]]
//
// NAME is one experiment, to which the flags belong, or all. It needs Linux, and
// some experiments need root. Leave the machine alone meanwhile: whatever else runs
// on it is in the figures.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/otelgc/otelgc/bench/causes"
	"github.com/otelgc/otelgc/bench/cost"
	"github.com/otelgc/otelgc/bench/demo"
	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/pauses"
	"github.com/otelgc/otelgc/bench/probe"
	"github.com/otelgc/otelgc/bench/sidecar"
	"github.com/otelgc/otelgc/bench/truth"
)

var experiments = []harness.Experiment{
	pauses.Experiment(), probe.Oslat(), probe.Clock(), truth.Experiment(), truth.Outside(), causes.Experiment(), cost.Experiment(), sidecar.DotNet(), sidecar.Doors(), demo.Experiment(),
}

func main() {
	causes.Child()
	truth.Child()
	dir := flag.String("o", "", "`directory` for the pages, such as ../docs/accuracy; standard output if empty")
	flag.Usage = usage
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dir, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench [-o DIR] NAME [FLAGS], or all. Experiments:")
	for _, e := range experiments {
		fmt.Fprintf(os.Stderr, "  %-16s %s\n", e.Name, e.Answer)
	}
	fmt.Fprintln(os.Stderr, "NAME -h lists the flags of an experiment.")
}

// run runs the experiments that are asked for. One that fails does not keep the
// others from being run.
func run(ctx context.Context, dir string, args []string) (err error) {
	if len(args) == 0 {
		usage()
		return errors.New("which experiment?")
	}
	if dir != "" { // not after an hour
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("look for the directory of the pages: %w", err)
		}
	}
	found := false
	for _, e := range experiments {
		if args[0] != e.Name && args[0] != "all" {
			continue
		}
		found = true
		if one := page(ctx, dir, e, args[1:]); one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.Name, one))
		}
	}
	if !found {
		return fmt.Errorf("no experiment %q", args[0])
	}
	return err
}

// page runs one experiment and writes its page if there is one.
func page(ctx context.Context, dir string, e harness.Experiment, args []string) error {
	if k, ok := e.Measurement.(harness.Keeper); ok && dir != "" {
		k.KeepIn(dir)
	}
	var text bytes.Buffer
	err := e.Run(ctx, args, &text, os.Stderr)
	if text.Len() == 0 || dir == "" {
		_, writeErr := text.WriteTo(os.Stdout)
		return errors.Join(err, writeErr)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, e.Name+".md"), text.Bytes(), 0o644))
}
