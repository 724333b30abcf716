package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
)

// trials is how services are run in one experiment, and how the runs went.
type trials struct {
	*harness.Page
	warmup, span, sliceWait time.Duration
	conns, live             int
	pin                     bool
	unaligned               int   // runs that were to hold whole slices and saw none begin in time
	service                 []int // CPUs; nil: anywhere
}

// flags defines the flags of t.
func (t *trials) flags(f *flag.FlagSet) {
	f.DurationVar(&t.warmup, "warmup", 5*time.Second, "time before the measurement of each run")
	f.DurationVar(&t.span, "span", 25*time.Second, "length of the measurement of each run")
	f.DurationVar(&t.sliceWait, "slice-wait", time.Minute, "longest wait for a tracing slice to begin")
	f.IntVar(&t.conns, "conns", 16, "connections of the load generator")
	f.IntVar(&t.live, "live", 16, "long-lived heap of the service, in `MB`")
	f.BoolVar(&t.pin, "pin", true, "run the service on half of the CPUs and the load generator on the others")
}

// begin moves this process, which sends the load, to its CPUs.
func (t *trials) begin(p *harness.Page) (err error) {
	if t.Page = p; t.pin {
		t.service, err = harness.Split()
	}
	return err
}

// placement says where service and load generator run.
func (t *trials) placement() string {
	if t.service == nil {
		return "service and load generator share all CPUs"
	}
	return fmt.Sprintf("service pinned to CPU %v, load generator to the others", t.service)
}

// run is one run of a service.
type run struct {
	Spec
	rate float64 // requests per second; 0 is as many as it can answer
	// wholeSlices measures from the begin of one tracing slice to the begin of
	// another: whole duty cycles. It is for monitors that rest between slices.
	wholeSlices bool
}

// do runs r once, in a process of its own.
func (t *trials) do(ctx context.Context, r run) (u shop.Usage, err error) {
	c, addr, err := Start(r.Spec, t.service)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, c.Stop(nil)) }()
	l, err := shop.StartLoad(addr, t.conns, r.rate)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	command := "now"
	if r.wholeSlices {
		command = "slice " + t.sliceWait.String()
	}
	var from shop.Usage
	for _, step := range []struct {
		wait time.Duration
		read *shop.Usage
	}{{t.warmup, &from}, {t.span, &u}} {
		if err := harness.Wait(ctx, step.wait); err != nil {
			return u, err
		}
		if err := c.Ask(command, step.read); err != nil {
			return u, err
		}
	}
	if u = u.Plus(from, -1); r.wholeSlices && !u.AtSlice {
		t.unaligned++
	}
	t.Logf("%+v rate %.0f: %.1f s, %d requests, %.1f us each, %.3f cores, %.0f%% traced, %d cycles", r.Spec, r.rate,
		u.Wall.Seconds(), u.Served, u.PerRequest(), u.Cores(), 100*u.TracedPart(), u.Cycles)
	return u, nil
}

// pairs is what two runs used, one after the other.
type (
	pair  = harness.Pair[shop.Usage]
	pairs = harness.Pairs[shop.Usage]
)

func (t *trials) pairs(ctx context.Context, n int, without, with run) (pairs, error) {
	return harness.Alternate(n, func(second bool) (shop.Usage, error) {
		if second {
			return t.do(ctx, with)
		}
		return t.do(ctx, without)
	})
}

// paraRuns says how pairs are run.
func (t *trials) paraRuns() {
	t.Para("Each run is a process of its own; the first %v are discarded, then at least %v are measured, in the order ABBA. "+
		"A run whose tracer rests is measured from the begin of one slice to the begin of another: it holds whole duty cycles. "+
		"CPU is getrusage of the service. Intervals are 95 %% intervals of the median by order statistics, which assume no distribution.",
		t.warmup, t.span)
	if t.unaligned > 0 {
		t.Para("%d runs saw no slice begin within %v and are measured over the bare span.", t.unaligned, t.sliceWait)
	}
}
