// Command pauses compares what exact fidelity says of each garbage collection
// of this process with what the runtime itself says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

func main() {
	program().Main()
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "pauses", Title: "Exact pauses against the runtime's own", Flags: e.flags, Measure: e.measure}
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

func (e *experiment) flags(f *flag.FlagSet) {
	f.IntVar(&e.cycles, "cycles", 1500, "collections to compare, of each load")
	f.DurationVar(&e.limit, "limit", 10*time.Minute, "longest time to spend on a load")
	f.IntVar(&e.live, "live", 8, "long-lived heap, in `MB`")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) (err error) {
	e.log = log
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
