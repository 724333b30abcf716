package otelgc

import (
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
	last  time.Time
}

func (h *pauseHook) start() {
	if h.call == nil {
		return
	}
	h.queue = make(chan gc.Collection, hookQueue)
	go func(queue <-chan gc.Collection) {
		for c := range queue {
			h.safely(c)
		}
	}(h.queue)
}

// safely calls the user's function. Its panic is its own, but not the
// program's end.
func (h *pauseHook) safely(c gc.Collection) {
	defer func() { _ = recover() }()
	h.call(c)
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

// stop ends the goroutine after the calls that are queued, and does not wait for
// them: f may be what calls Shutdown.
func (h *pauseHook) stop() {
	if h.queue != nil {
		close(h.queue)
	}
}
