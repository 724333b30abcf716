package main

import (
	"errors"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// collectEvery is the time between two collections.
const collectEvery = time.Millisecond

// collect forces garbage collections, and returns what tell says of them.
func collect(tell func(*held) []stall.Span) work {
	return func(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
		h, err := watchHeld(cpu, clock)
		if err != nil {
			return nil, missingRights{err}
		}
		defer func() { err = errors.Join(err, h.close()) }()
		for {
			select {
			case <-quit:
				err := h.read()
				return tell(h), err
			case <-time.After(collectEvery):
			}
			runtime.GC()
			if err := h.read(); err != nil {
				return nil, err
			}
		}
	}
}
