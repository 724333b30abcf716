package otelgc

import (
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

const (
	hookEvery = 100 * time.Millisecond
	hookQueue = 16
)

// pauseHook calls the user's function for collections that paused for long.
type pauseHook struct {
	asyncCall[gc.Collection]
	threshold time.Duration
	call      func(gc.Collection)
	last      time.Time
}

func (h *pauseHook) start(p *panics) {
	if h.call != nil {
		h.asyncCall.start(hookQueue, func(c gc.Collection) {
			p.safely("on_pause", "the function of WithOnPause", func() { h.call(c) })
		})
	}
}

// offer reports false if a call was due and could not be made.
func (h *pauseHook) offer(c *gc.Collection) bool {
	if h.call == nil || c.PauseTotal() < h.threshold {
		return true
	}
	now := time.Now()
	if now.Sub(h.last) < hookEvery {
		return false
	}
	h.last = now
	return h.asyncCall.offer(c.Clone())
}
