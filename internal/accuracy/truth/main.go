// Command truth injects what it knows into requests of its own, and compares
// what it injected with what otelgc names first.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

// experiment is what the flags say.
type experiment struct {
	affected int
	limit    time.Duration
	only     string
	sums     int
	log      io.Writer
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	e := experiment{log: log}
	var o report.Output
	f := flag.NewFlagSet("truth", flag.ContinueOnError)
	f.SetOutput(log)
	o.Flag(f)
	f.IntVar(&e.affected, "affected", 400, "affected requests of each class")
	f.DurationVar(&e.limit, "limit", 3*time.Minute, "longest time to spend on a class")
	f.StringVar(&e.only, "only", "", "`names` of the classes to run, such as compute,pause; all of them without")
	f.IntVar(&e.sums, "sums", 1_000_000, "requests of the run in which every share is added up; 0 for no such run")
	if err := f.Parse(args); err != nil {
		return err
	}
	s := report.New("Truth by injection")
	tallies, err := e.classes(ctx)
	if err != nil {
		return err
	}
	write(s, e.affected, tallies)
	if e.sums > 0 {
		sum, err := e.addUp(ctx)
		if err != nil {
			return err
		}
		sum.write(s)
	}
	return o.Write(out, s)
}

// classes runs those that were asked for, one after the other.
func (e *experiment) classes(ctx context.Context) ([]*tally, error) {
	var tallies []*tally
	for _, c := range classes() {
		if e.only != "" && !strings.Contains(","+e.only+",", ","+c.name+",") {
			continue
		}
		begin := time.Now()
		t, err := e.class(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(e.log, "%s, %v\n", t, time.Since(begin).Round(time.Second))
		tallies = append(tallies, t)
	}
	return tallies, nil
}
