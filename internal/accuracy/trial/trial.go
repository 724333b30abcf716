// Package trial runs services under load in pairs that differ in one thing, and
// says what each run used.
package trial

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/load"
	"github.com/otelgc/otelgc/internal/accuracy/pin"
	"github.com/otelgc/otelgc/internal/accuracy/service"
)

// Bench is how services are run: what all runs of a program have in common.
type Bench struct {
	Warmup, Span time.Duration
	SliceWait    time.Duration // how long to wait for a slice to begin
	Conns        int
	Pin          bool
	Log          func(format string, args ...any)
	// Unaligned counts the runs that were to hold whole slices and saw none
	// begin in time: they were measured over their bare span.
	Unaligned int

	service []int // CPUs; nil: anywhere
}

// Flags defines the flags of b, with these defaults for the times.
func (b *Bench) Flags(f *flag.FlagSet, warmup, span, sliceWait time.Duration) {
	f.DurationVar(&b.Warmup, "warmup", warmup, "time before anything is measured, in each run")
	f.DurationVar(&b.Span, "span", span, "time that is measured, in each run")
	f.DurationVar(&b.SliceWait, "slice-wait", sliceWait, "how long to wait for a tracing slice to begin")
	f.IntVar(&b.Conns, "conns", 16, "connections of the load generator")
	f.BoolVar(&b.Pin, "pin", true, "run the service on half of the CPUs and the load generator on the others")
}

// pins moves this process, which sends the load, to its half of the CPUs.
func (b *Bench) pins() error {
	if !b.Pin {
		return nil
	}
	mine, others := pin.Halves()
	b.service = mine
	return pin.Process(others)
}

// Begin says on log what is done from here on, and moves this process.
func (b *Bench) Begin(log io.Writer) error {
	b.Log = func(format string, args ...any) {
		_, _ = fmt.Fprintf(log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
	}
	return b.pins()
}

// Placement says where service and load generator run.
func (b *Bench) Placement() string {
	if b.service == nil {
		return "service and load generator share all CPUs"
	}
	return fmt.Sprintf("service pinned to CPU %v, load generator to the others", b.service)
}

// Run is one run of a service.
type Run struct {
	service.Spec
	Rate float64 // requests per second; 0 is as many as it can answer
	// WholeSlices measures from the begin of one tracing slice to the begin of
	// another: whole duty cycles, however long they are. Only for monitors that
	// rest between slices.
	WholeSlices bool
}

// Do runs r once, in a process of its own.
func (b *Bench) Do(ctx context.Context, r Run) (u service.Usage, err error) {
	if err := ctx.Err(); err != nil {
		return u, err
	}
	p, err := service.Start(r.Spec, b.service)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	l, err := load.Start(load.Plan{Addr: p.Addr, Body: service.Body, Conns: b.Conns, Rate: r.Rate})
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	mark := p.Now
	if r.WholeSlices {
		mark = func() (service.Usage, error) { return p.AtSlice(b.SliceWait) }
	}
	if err := sleep(ctx, b.Warmup); err != nil {
		return u, err
	}
	from, err := mark()
	if err != nil {
		return u, err
	}
	if err := sleep(ctx, b.Span); err != nil {
		return u, err
	}
	to, err := mark()
	if err != nil {
		return u, err
	}
	u = to.Sub(from)
	if r.WholeSlices && !u.AtSlice {
		b.Unaligned++
	}
	b.Log("%+v rate %.0f: %.1f s, %d requests, %v each, %.3f cores, %.0f%% traced, %d cycles", r.Spec, r.Rate,
		u.All.Wall.Seconds(), u.All.Served, u.All.PerRequest(), u.All.Cores(), 100*Traced(u), u.Cycles)
	return u, nil
}

// Pair is what two runs used, one after the other.
type Pair struct{ Without, With service.Usage }

// Pairs runs n pairs in the order ABBA, so that a machine that gets slower or
// faster does not favor either.
func (b *Bench) Pairs(ctx context.Context, n int, without, with Run) ([]Pair, error) {
	pairs := make([]Pair, n)
	for i := range pairs {
		p := &pairs[i]
		order := []struct {
			run Run
			to  *service.Usage
		}{{without, &p.Without}, {with, &p.With}}
		if i%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, o := range order {
			u, err := b.Do(ctx, o.run)
			if err != nil {
				return nil, fmt.Errorf("pair %d: %w", i+1, err)
			}
			*o.to = u
		}
	}
	return pairs, nil
}

// Each returns f of every pair.
func Each(pairs []Pair, f func(Pair) float64) []float64 {
	values := make([]float64, len(pairs))
	for i, p := range pairs {
		values[i] = f(p)
	}
	return values
}

// Traced returns the fraction of the time that was traced.
func Traced(u service.Usage) float64 { return u.Traced.Wall.Seconds() / u.All.Wall.Seconds() }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
