package otelgc

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

const (
	hookEvery = 100 * time.Millisecond
	hookQueue = 16
)

// pauseHook calls the user's function on a goroutine of its own, so that a slow
// one delays nothing but itself.
type pauseHook struct {
	threshold time.Duration
	call      func(gc.Collection)

	queue chan gc.Collection
	done  chan struct{} // closed when all calls have returned
	last  time.Time
}

func (h *pauseHook) start() {
	if h.call == nil {
		return
	}
	h.queue, h.done = make(chan gc.Collection, hookQueue), make(chan struct{})
	go func() {
		defer close(h.done)
		for c := range h.queue {
			safely(func() { h.call(c) })
		}
	}()
}

// offer reports false if a call was due and could not be made.
func (h *pauseHook) offer(c *gc.Collection) bool {
	if h.call == nil || c.PauseTotal() < h.threshold {
		return true
	}
	if now := time.Now(); now.Sub(h.last) >= hookEvery {
		h.last = now
		select {
		case h.queue <- c.Clone():
			return true
		default:
		}
	}
	return false
}

// stop ends the goroutine after the calls that are queued, waits for them until ctx
// ends, and returns how many have not begun by then.
func (h *pauseHook) stop(ctx context.Context) (left uint64) {
	if h.queue == nil {
		return 0
	}
	close(h.queue)
	select {
	case <-h.done:
	case <-ctx.Done():
	}
	return uint64(len(h.queue))
}
