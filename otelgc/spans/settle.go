package spans

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ForceFlush hands on all spans that have ended, with what is known of them.
func (p *processor) ForceFlush(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	return p.next.ForceFlush(ctx)
}

// Shutdown does the same and ends the processor, and next.
func (p *processor) Shutdown(ctx context.Context) error {
	var err error
	p.once.Do(func() {
		p.closed.Store(true)
		err = p.settle(ctx)
		close(p.quit)
		if err == nil {
			p.worker.Wait()
		}
		err = errors.Join(err, p.next.Shutdown(ctx))
	})
	return err
}

// pollEvery is how often settle looks whether the worker is done.
const pollEvery = time.Millisecond

// settle waits until every span that is held by now has been handed on. The worker's
// context is one that ends when who waits does: he may be in a bubble of
// testing/synctest, of whose channels nobody outside may ask.
func (p *processor) settle(ctx context.Context) error {
	workers, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p.flush.Store(&workers)
	defer p.flush.CompareAndSwap(&workers, nil)
	upTo := p.taken.Load()
	for p.passed.Load() < upTo {
		// Where the monitor is shut down meanwhile, that resolves them.
		if err := p.m.ResolveNow(ctx); err != nil {
			return p.late(err, upTo)
		}
		if p.passed.Load() >= upTo {
			break
		}
		select {
		case <-ctx.Done():
			return p.late(ctx.Err(), upTo)
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func (p *processor) late(err error, upTo uint64) error {
	return fmt.Errorf("otelgc/spans: %d spans wait still: %w", upTo-min(upTo, p.passed.Load()), err)
}
