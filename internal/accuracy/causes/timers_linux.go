package main

import (
	"context"
	"errors"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/cpuclock"
	"github.com/otelgc/otelgc/stall"
)

// timerEvery is the time between two interrupts.
const timerEvery = time.Millisecond + 37*time.Microsecond

// timers has the kernel sample the probe's CPU by its clock: each sample is an
// interrupt of a timer, and says itself when it came.
func timers(ctx context.Context, e *experiment, p *process, in *injection) (err error) {
	s, err := cpuclock.Open(p.hello.CPU, timerEvery)
	if err != nil {
		return missingRights{err}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for end := time.Now().Add(e.span); time.Now().Before(end) && ctx.Err() == nil; {
		wait(ctx, 100*time.Millisecond)
		for _, t := range s.Read() {
			in.truth = append(in.truth, stall.Span{Start: t, End: t + 1})
		}
	}
	return nil
}
