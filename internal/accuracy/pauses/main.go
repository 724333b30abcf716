// Command pauses compares what exact fidelity says of each garbage collection
// of this process with what the runtime itself says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "pauses:", err)
		os.Exit(1)
	}
}

// lookEvery is short enough for the ring of 256 cycles in which the runtime
// keeps its pauses.
const lookEvery = 200 * time.Millisecond

// experiment is what the flags say.
type experiment struct {
	cycles int
	limit  time.Duration
	live   int
	log    io.Writer
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	e := experiment{log: log}
	var o report.Output
	f := flag.NewFlagSet("pauses", flag.ContinueOnError)
	f.SetOutput(log)
	o.Flag(f)
	f.IntVar(&e.cycles, "cycles", 1500, "collections to compare, of each load")
	f.DurationVar(&e.limit, "limit", 10*time.Minute, "longest time to spend on a load")
	f.IntVar(&e.live, "live", 8, "long-lived heap, in `MB`")
	if err := f.Parse(args); err != nil {
		return err
	}
	s := report.New("Exact pauses against the runtime's own")
	if err := e.measure(ctx, s); err != nil {
		return err
	}
	return o.Write(out, s)
}

func (e *experiment) measure(ctx context.Context, s *report.Section) (err error) {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	m, err := otelgc.Start(otelgc.WithExactBudget(1), otelgc.WithBoard(""))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, m.Shutdown(ctx))
	}()
	var tallies []*tally
	for _, l := range loads {
		t, err := e.compare(ctx, m, clock, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		tallies = append(tallies, t)
	}
	write(s, e, tallies)
	return nil
}

// compare runs a load until enough collections of it have been compared.
func (e *experiment) compare(ctx context.Context, m *otelgc.Monitor, clock stall.Clock, l load) (*tally, error) {
	if err := m.Flush(ctx); err != nil {
		return nil, err
	}
	t := newTally(l.name, clock, m)
	stop := l.start(e.live)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for begin := time.Now(); len(t.excess) < e.cycles && time.Since(begin) < e.limit; {
		select {
		case <-tick.C:
			t.look()
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		}
	}
	stop()
	fmt.Fprintf(e.log, "%s: %d collections, %d compared\n", t.name, t.seen, len(t.excess))
	return t, nil
}
