package telemetry

import (
	"context"
	"sync"
)

// Outbox calls what may block, such as a logger of the program's, in order and one
// at a time, on a goroutine that is there only while there is something to call. Who
// puts something in waits for nobody, and what waits is bounded in number.
type Outbox struct {
	room int
	ctx  context.Context // of what is called, ends when nobody waits for it any more
	stop context.CancelFunc

	mu     sync.Mutex
	queue  []func(context.Context)
	busy   chan struct{} // closed when all are called; nil while nothing is
	called uint64        // how many have returned
	closed bool
	given  bool // up: what has not returned was told of
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
