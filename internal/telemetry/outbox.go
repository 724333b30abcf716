package telemetry

import (
	"context"
	"sync"
	"time"
)

// Outbox calls what may block, such as a logger of the program's, in order and one
// at a time, on a goroutine that is there only while there is something to call. Put
// does not wait, and what waits is bounded in number.
type Outbox struct {
	room int
	ctx  context.Context // of what is called, ends when it is not waited for any more
	stop context.CancelFunc

	mu     sync.Mutex
	queue  []func(context.Context)
	busy   chan struct{} // closed when all are called; nil while nothing is
	called uint64        // how many have returned
	closed bool
	given  bool // up: what has not returned was reported
}

// NewOutbox returns an Outbox in which room calls may wait, the one under way apart.
func NewOutbox(room int) *Outbox {
	o := &Outbox{room: room}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o
}

// Put has f called, or reports false if too many wait or the Outbox is closed. The
// context of f ends when Close has waited for long enough. A panic of f ends f alone.
func (o *Outbox) Put(f func(context.Context)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.queue) >= o.room {
		return false
	}
	o.queue = append(o.queue, f)
	if o.busy == nil {
		o.busy = make(chan struct{})
		go o.run()
	}
	return true
}

func (o *Outbox) run() {
	for f := o.next(); f != nil; f = o.next() {
		o.call(f)
	}
}

func (o *Outbox) call(f func(context.Context)) {
	defer func() {
		_ = recover()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.called++
	}()
	f(o.ctx)
}

// next returns what is to be called, or nil: then it says that all is.
func (o *Outbox) next() func(context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		close(o.busy)
		o.busy, o.queue = nil, nil
		return nil
	}
	f := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return f
}

const (
	// patience is for how long none of the calls may return before it is taken that
	// none will: so many looks that found none, not a time: while the process was stopped, or had
	// no CPU, it did not look, and what is called did not run.
	patience = time.Second
	looks    = 4
	// unwind is how long a call is waited for whose context has ended.
	unwind = 100 * time.Millisecond
)

// Close takes nothing from now on, and waits until all that was put in is called, as
// long as some of it still is: until ctx ends, or no call has returned for a second.
// Then what is under way has its context end, and the rest is not called. It returns
// how many calls have not returned: to the first caller, where it is called more
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

// giveUp returns how many will not be called, and whether that was not reported before.
func (o *Outbox) giveUp() (left int, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left, first = len(o.queue), !o.given
	o.queue, o.given = nil, true
	return left, first
}
