package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/cpuclock"
	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

func main() { program().Main() }

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "clock", Title: "Timestamps of the probe against the kernel's", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	span, part time.Duration
	after      time.Duration
	cpu        int
	mode       jitterprobe.Mode
}

func (e *experiment) flags(f *flag.FlagSet) {
	f.DurationVar(&e.span, "span", 80*time.Second, "length of the measurement")
	f.DurationVar(&e.after, "after", time.Minute, "time in which the timestamps may drift: what comes after it is held against as much at the start")
	f.DurationVar(&e.part, "part", 5*time.Second, "length of the parts that are compared")
}

// sampleEvery is the time between two interrupts.
const sampleEvery = time.Millisecond + 37*time.Microsecond

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	var gaps []jitterprobe.Gap
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Spin, Force: true, Clock: clock})
	if err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		gaps = slices.AppendSeq(gaps, p.All())
	}()
	e.cpu, e.mode = p.CPU(), p.Mode()
	samples, err := e.sample(ctx)
	p.Stop()
	<-read
	switch {
	case err != nil:
		return err
	case e.mode != jitterprobe.Spin:
		return fmt.Errorf("probe: %s", p.Note())
	}
	parts := compare(samples, gaps, e.part)
	_, _ = fmt.Fprintf(log, "%d samples, %d gaps, %d parts\n", len(samples), len(gaps), len(parts))
	return write(s, e, parts)
}

// sample keeps the program itself off the probe's CPU, and interrupts it.
func (e *experiment) sample(ctx context.Context) (samples []stall.Instant, err error) {
	if e.cpu < 0 {
		return nil, errors.New("the probe is not pinned")
	}
	restore, err := jitterprobe.Reserve(e.cpu)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	k, err := cpuclock.Open(e.cpu, sampleEvery)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	for end := time.Now().Add(e.span); time.Now().Before(end); {
		select {
		case <-time.After(100 * time.Millisecond):
			samples = append(samples, k.Read()...)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return samples, nil
}
