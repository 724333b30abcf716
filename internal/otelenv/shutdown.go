package otelenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Shutdown exports what is held and ends the providers, within ctx and
// [ShutdownTimeout]. A second call returns what the first did.
func (p *Providers) Shutdown(ctx context.Context) error {
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		defer p.stop()
		// Metrics last, and with some time left: they say what the others lost.
		deadline, _ := ctx.Deadline()
		early, done := context.WithTimeout(ctx, time.Until(deadline)*3/4)
		err := p.endEvents(early)
		done()
		p.logs.tally.over.Store(true)
		p.spans.tally.over.Store(true)
		defer p.metrics.tally.over.Store(true)
		p.err = asked(Join(err, named("end metrics", finish(ctx, p.Meter))))
	})
	return p.err
}

// asked adds to an error of time what is behind it most often: the SDK's says
// only that it was over.
func asked(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: does the Collector at %s answer?", err, collector())
}

// provider is what the three of the SDK have in common.
type provider interface{ Shutdown(context.Context) error }

// endEvents ends logs and spans at once.
func (p *Providers) endEvents(ctx context.Context) error {
	var wait sync.WaitGroup
	var logErr, spanErr error
	wait.Go(func() { logErr = named("end logs", finish(ctx, p.Logger)) })
	wait.Go(func() { spanErr = named("end spans", finish(ctx, p.Tracer)) })
	wait.Wait()
	return errors.Join(logErr, spanErr)
}

// finish ends p and stops waiting for it when ctx ends: an export under way may
// take its own timeout before it looks.
func finish[P interface {
	comparable
	provider
}](ctx context.Context, p P) error {
	var absent P
	if p == absent {
		return nil
	}
	result := make(chan error, 1)
	go func() { result <- p.Shutdown(ctx) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Join is [errors.Join] with a text of one line.
func Join(errs ...error) error { return oneLine(errors.Join(errs...)) }

// oneLine returns err with a text of one line; the SDK joins errors by line.
func oneLine(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return lineError{err}
}

type lineError struct{ error }

func (e lineError) Error() string {
	lines := strings.FieldsFunc(e.error.Error(), func(r rune) bool { return r == '\n' })
	return strings.Join(slices.Compact(lines), "; ") // three signals may say the same
}

func (e lineError) Unwrap() error { return e.error }

// Discard ends the providers without exporting anything.
func (p *Providers) Discard() {
	p.stop()
	_ = p.Shutdown(context.Background()) // its exports are canceled: the error says so
}
