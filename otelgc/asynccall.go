package otelgc

import "context"

// aside hands values to the user's own code, a hook or a logger, on a goroutine of
// its own: one that is slow, or hangs, delays nothing but itself. The zero value
// takes nothing.
type asyncCall[T any] struct {
	queue chan T
	done  chan struct{} // closed when all calls have returned
}

// start begins to call f, which does not panic, with what is offered; as many as room
// wait for it.
func (a *asyncCall[T]) start(room int, f func(T)) {
	a.queue, a.done = make(chan T, room), make(chan struct{})
	go func() {
		defer close(a.done)
		for v := range a.queue {
			f(v)
		}
	}()
}

func (a *asyncCall[T]) started() bool { return a.queue != nil }

// offer reports false if there was no room for v.
func (a *asyncCall[T]) offer(v T) bool {
	select {
	case a.queue <- v:
		return true
	default:
		return false
	}
}

// stop ends the goroutine after what is queued, waits for that until ctx ends, and
// returns how many have not begun by then. Nothing is offered from then on.
func (a *asyncCall[T]) stop(ctx context.Context) (left uint64) {
	if !a.started() {
		return 0
	}
	close(a.queue)
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	return uint64(len(a.queue))
}
