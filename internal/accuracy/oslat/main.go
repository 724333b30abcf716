// Command oslat holds the spinning probe against oslat (rt-tests) on one CPU:
// in alternating runs, so that both meet the same noise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/pin"
	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/jitterprobe"
)

func main() { program().Main() }

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "oslat", Title: "The spinning probe against oslat", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say, and the CPUs that come of it.
type experiment struct {
	rounds    int
	span      time.Duration
	cpu, rest int // of the measuring loops, and of what else the programs do
}

// bounds are the lengths from which on gaps are compared.
var bounds = [...]time.Duration{2 * time.Microsecond, 10 * time.Microsecond, 50 * time.Microsecond}

// rates are the gaps per second of at least each of the bounds.
type rates [len(bounds)]float64

func (e *experiment) flags(f *flag.FlagSet) {
	f.IntVar(&e.rounds, "rounds", 11, "runs of each program")
	f.DurationVar(&e.span, "span", 5*time.Second, "length of a run, in whole seconds")
	f.IntVar(&e.cpu, "cpu", -1, "the `CPU` to watch; the last that this process may use if negative")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	if e.rounds < 1 || e.span < time.Second || e.span%time.Second != 0 {
		return fmt.Errorf("-rounds %d -span %v: want one round or more, of whole seconds", e.rounds, e.span)
	}
	if err := e.place(); err != nil {
		return err
	}
	var c comparison
	for round := range e.rounds {
		if err := e.once(ctx, &c); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		_, _ = fmt.Fprintf(log, "round %d of %d: gaps/s of at least %v: oslat %.1f, probe %.1f\n",
			round+1, e.rounds, bounds, c.oslat[round], c.probe[round])
	}
	write(s, e, &c)
	return nil
}

// place chooses the CPUs.
func (e *experiment) place() error {
	first, second := pin.Halves()
	cpus := append(first, second...)
	if len(cpus) < 2 {
		return errors.New("choose a CPU: this process may use only one: both programs would measure themselves")
	}
	if e.cpu < 0 {
		e.cpu = cpus[len(cpus)-1]
	}
	if e.rest = cpus[0]; e.rest == e.cpu {
		e.rest = cpus[1]
	}
	return nil
}

// comparison is what both saw in each round.
type comparison struct {
	version       string // of oslat
	oslat, probe  []rates
	loop, balance []float64 // of the probe
}

// once runs one after the other.
func (e *experiment) once(ctx context.Context, c *comparison) error {
	theirs, version, err := runOslat(ctx, e.cpu, e.rest, e.span)
	if err != nil {
		return err
	}
	s, err := e.spin(ctx)
	if err != nil {
		return err
	}
	c.version = version
	c.oslat = append(c.oslat, theirs)
	c.probe = append(c.probe, ratesOf(&s.Snapshot))
	c.loop = append(c.loop, s.Loop)
	c.balance = append(c.balance, s.Balance)
	return nil
}

// spin runs the probe for as long as oslat ran.
func (e *experiment) spin(ctx context.Context) (s jitterprobe.Summary, err error) {
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Spin, CPU: &e.cpu})
	if err != nil {
		return s, err
	}
	restore, err := jitterprobe.Reserve(e.cpu) // of this process only the probe
	if err != nil {
		p.Stop()
		return s, fmt.Errorf("leave CPU %d to the probe: %w", e.cpu, err)
	}
	t := time.NewTimer(e.span)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s = p.Stop()
	if s.Mode != jitterprobe.Spin {
		err = errors.Join(err, fmt.Errorf("the probe does not spin: %s", s.Note))
	}
	return s, errors.Join(err, restore())
}

func ratesOf(s *jitterprobe.Snapshot) (r rates) {
	for i, b := range bounds {
		for _, c := range s.Counts {
			if c.AtLeast == b {
				r[i] = float64(c.N) / s.Observed().Seconds()
			}
		}
	}
	return r
}
