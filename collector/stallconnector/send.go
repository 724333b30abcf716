package stallconnector

import (
	"context"
	"fmt"
)

// send hands something on to whoever stands behind i, unless that is about to stop.
func (i *instance) send(consume func(context.Context) error) error {
	i.mu.Lock()
	closed := i.closed
	if !closed {
		i.sending.Add(1)
	}
	i.mu.Unlock()
	if closed {
		return errStopped
	}
	defer i.sending.Done()
	return consume(i.ctx)
}

// close has nothing sent any more, and waits for what is under way. Who still takes
// something when ctx is over is told that nobody waits for it.
func (i *instance) close(ctx context.Context) error {
	defer i.cancel()
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	return within(ctx, i.sending.Wait)
}

// within waits for f to return, at most until ctx is over.
func within(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done: // in time all the same
		return nil
	default:
		return fmt.Errorf("wait for the next component: %w", context.Cause(ctx))
	}
}
