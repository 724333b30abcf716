// Command truth injects what it knows into requests of its own, and compares
// what it injected with what otelgc names first.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

func main() {
	program().Main()
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "truth", Title: "Truth by injection", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	affected int
	alone    int // of them those that the machine left alone
	limit    time.Duration
	only     string
	sums     int
	log      io.Writer
}

func (e *experiment) flags(f *flag.FlagSet) {
	f.IntVar(&e.affected, "affected", 400, "affected requests of each class")
	f.DurationVar(&e.limit, "limit", 3*time.Minute, "longest time to spend on a class")
	f.StringVar(&e.only, "only", "", "`names` of the classes to run, such as compute,pause; all of them without")
	f.IntVar(&e.sums, "sums", 1_000_000, "requests of the run in which every share is added up; 0 for no such run")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	e.log = log
	tallies, err := e.classes(ctx)
	if err != nil {
		return err
	}
	write(s, e.affected, tallies)
	if e.sums == 0 {
		return nil
	}
	sum, err := e.addUp(ctx)
	if err != nil {
		return err
	}
	sum.write(s)
	return nil
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
