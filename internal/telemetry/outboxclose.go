package telemetry

import (
	"context"
	"time"
)

const (
	// patience is for how long none of the calls may return before it is taken that
	// none will: so many looks that found none, not a time. Who was stopped, or had no
	// CPU, has not looked meanwhile, and what is called has not run.
	patience = time.Second
	looks    = 4
	// unwind is how long a call is waited for whose context has ended.
	unwind = 100 * time.Millisecond
)

// Close takes nothing from now on, and waits until all that was put in is called, as
// long as some of it still is: until ctx ends, or no call has returned for a second.
// Then what is under way has its context end, and the rest is not called. It returns
// how many calls have not returned: to the first who asks, where it is called more
// than once.
func (o *Outbox) Close(ctx context.Context) (left int) {
	defer o.stop()
	o.mu.Lock()
	o.closed = true
	busy := o.busy
	o.mu.Unlock()
	if busy == nil || o.wait(ctx, busy) {
		return 0
	}
	left, first := o.giveUp()
	if !first {
		return 0
	}
	o.stop()
	select {
	case <-busy:
		return left
	case <-time.After(unwind):
		return left + 1
	}
}

// wait reports false if it has no sense to wait any longer.
func (o *Outbox) wait(ctx context.Context, busy <-chan struct{}) bool {
	tick := time.NewTicker(patience / looks)
	defer tick.Stop()
	for called, vain := o.returned(), 0; vain < looks; vain++ {
		select {
		case <-busy:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if now := o.returned(); now != called {
			called, vain = now, -1
		}
	}
	return false
}

func (o *Outbox) returned() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.called
}

// giveUp returns how many will not be called, and whether nobody was told of them.
func (o *Outbox) giveUp() (left int, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left, first = len(o.queue), !o.given
	o.queue, o.given = nil, true
	return left, first
}
