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

// ForceFlush exports what is held, within ctx.
func (p *Providers) ForceFlush(ctx context.Context) error {
	return Join(
		p.events(ctx, provider.ForceFlush),
		named("flush metrics", finish(ctx, p.Meter, provider.ForceFlush)),
	)
}

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
		err := p.events(early, provider.Shutdown)
		done()
		p.logs.tally.over.Store(true)
		p.spans.tally.over.Store(true)
		defer p.metrics.tally.over.Store(true)
		p.err = asked(Join(err, named("end metrics", finish(ctx, p.Meter, provider.Shutdown))))
	})
	return p.err
}

// asked adds to an error of time what is behind it most often: the SDK's says
// only that it was over.
func asked(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: does the Collector at OTEL_EXPORTER_OTLP_ENDPOINT answer?", err)
}

// provider is what the three of the SDK have in common.
type provider interface {
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

type step = func(provider, context.Context) error

// events does step for logs and spans at once.
func (p *Providers) events(ctx context.Context, do step) error {
	var wait sync.WaitGroup
	var logErr, spanErr error
	wait.Go(func() { logErr = named("end logs", finish(ctx, p.Logger, do)) })
	wait.Go(func() { spanErr = named("end spans", finish(ctx, p.Tracer, do)) })
	wait.Wait()
	return errors.Join(logErr, spanErr)
}

// finish does step and stops waiting for it when ctx ends: an export under way
// may take its own timeout before it looks.
func finish[P interface {
	comparable
	provider
}](ctx context.Context, p P, do step) error {
	var absent P
	if p == absent {
		return nil
	}
	result := make(chan error, 1)
	go func() { result <- do(p, ctx) }()
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
