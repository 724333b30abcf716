package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

func main() {
	childMain()
	program().Main()
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "causes", Title: "Causes of gaps against what was injected", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	span time.Duration
	only string
	log  io.Writer
	cpu  int // of the probe
}

func (e *experiment) flags(f *flag.FlagSet) {
	f.DurationVar(&e.span, "span", 20*time.Second, "length of each case")
	f.StringVar(&e.only, "only", "", "`part` of the names of the cases to run; all of them without")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	e.log = log
	tallies, err := e.run(ctx, cases)
	if err != nil {
		return err
	}
	write(s, e, tallies)
	if n := unmet(verdicts(tallies)); n > 0 {
		return fmt.Errorf("causes of gaps: %d %w", n, report.ErrUnmet)
	}
	return nil
}

// run runs those cases that this process has the rights for.
func (e *experiment) run(ctx context.Context, list []testCase) ([]*tally, error) {
	var all []*tally
	for i := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := &list[i]
		if !strings.Contains(c.name, e.only) {
			continue
		}
		t, err := e.once(ctx, c)
		var missing missingRights
		switch {
		case errors.As(err, &missing):
			fmt.Fprintf(e.log, "%s: left out: %v\n", c.name, err)
			t = &tally{c: c, left: err.Error()}
		case err != nil:
			return nil, fmt.Errorf("%s: %w", c.name, err)
		default:
			fmt.Fprintf(e.log, "%s: %s\n%s", c.name, t, t.oddities())
		}
		all = append(all, t)
	}
	return all, nil
}

// missingRights says that a case cannot be injected here.
type missingRights struct{ error }

func (m missingRights) Unwrap() error { return m.error }

// once runs a case: a child probes, the injector works beside it, and what the
// child saw is held against what the injector did.
func (e *experiment) once(ctx context.Context, c *testCase) (_ *tally, err error) {
	var in injection
	spec := childSpec{Mode: c.mode, Work: c.work, Rights: c.rights, Trap: c.trap, Wait: c.wait}
	if c.prepare != nil {
		undo, err := c.prepare(&spec)
		if err != nil {
			return nil, missingRights{err}
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	p, err := startChild(spec)
	if err != nil {
		return nil, err
	}
	if p.hello.Missing != "" {
		_, err := p.end()
		return nil, errors.Join(missingRights{errors.New(p.hello.Missing)}, err)
	}
	e.cpu = p.hello.CPU
	longer := *e
	longer.span *= time.Duration(max(1, c.times))
	if c.inject != nil {
		err = c.inject(ctx, &longer, p, &in)
	} else {
		wait(ctx, longer.span)
	}
	s, endErr := p.end()
	if err := errors.Join(err, endErr); err != nil {
		return nil, err
	}
	if s.Missing != "" {
		return nil, missingRights{errors.New(s.Missing)}
	}
	in.truth = append(in.truth, s.Truth...)
	return newTally(c, s, in), nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
