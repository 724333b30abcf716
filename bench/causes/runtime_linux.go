package causes

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/kernel"
	"github.com/otelgc/otelgc/stall"
)

// Calls of these functions show when the runtime delayed the probe's thread, and when the
// world was stopped (runtime/proc.go, Go 1.26).
const (
	noP   = "runtime.exitsyscallNoP"        // the thread comes back to the runtime, and there is no P for it
	goOn  = "runtime.execute"               // it has one
	start = "runtime.startTheWorldWithSema" // with the reason of the stop, and when it began
	letGo = "runtime.startlockedm"          // another thread wakes the one that a goroutine is locked to
)

// Reasons of a stop of the world for a garbage collection (stwReason).
const (
	markTermination  = 1
	sweepTermination = 2
)

// held finds the stretches in which the runtime held the probe's thread up.
type held struct {
	clock   stall.Clock
	thread  *kernel.Watch
	process *kernel.Watch
	since   stall.Instant // without a P; zero if it has one
	spans   []stall.Span  // without a P
	stops   []stall.Span  // of the world, for a collection: until it began to be started
	let     []stall.Instant
}

func watchHeld(cpu int, clock stall.Clock) (*held, error) {
	tid, err := pinnedTo(cpu)
	if err != nil {
		return nil, err
	}
	h := &held{clock: clock}
	if h.thread, err = kernel.WatchThread(tid, noP, goOn); err != nil {
		return nil, err
	}
	if h.process, err = kernel.WatchProcess(start, letGo); err != nil {
		return nil, errors.Join(err, h.thread.Close())
	}
	return h, nil
}

func (h *held) close() error { return errors.Join(h.thread.Close(), h.process.Close()) }

// read adds the calls since the last read.
func (h *held) read() error {
	err := h.thread.Read(func(c kernel.Hit) {
		switch {
		case c.Function == 0:
			h.since = c.At
		case h.since != 0:
			h.spans = append(h.spans, stall.Span{Start: h.since, End: c.At})
			h.since = 0
		}
	})
	return errors.Join(err, h.process.Read(func(c kernel.Hit) {
		if c.Function == 1 {
			h.let = append(h.let, c.At)
		} else if reason := uint8(c.BX); reason == markTermination || reason == sweepTermination {
			h.stops = append(h.stops, stall.Span{Start: stall.Instant(c.CX).Add(-h.clock.Namespace()), End: c.At})
		}
	}))
}

// forCollections returns the stretches that began while the world was stopped for
// a collection. Each ends when the runtime let the thread go: how long it waited
// for its CPU from there on is the machine's doing.
func (h *held) forCollections() (list []stall.Span) {
	stop, let := 0, 0
	for _, s := range h.spans {
		for stop < len(h.stops) && h.stops[stop].End <= s.Start {
			stop++
		}
		for let < len(h.let) && h.let[let] <= s.Start {
			let++
		}
		if stop < len(h.stops) && h.stops[stop].Start <= s.Start {
			if let < len(h.let) {
				s.End = min(s.End, h.let[let])
			}
			list = append(list, s)
		}
	}
	return list
}

// pinnedTo returns the one thread of this process that may run on cpu alone.
func pinnedTo(cpu int) (tid int, err error) {
	threads, err := harness.Threads(os.Getpid())
	if err != nil {
		return 0, err
	}
	threads = slices.DeleteFunc(threads, func(t harness.Thread) bool { return !slices.Equal(harness.CPUs(t.TID), []int{cpu}) })
	if len(threads) != 1 {
		return 0, fmt.Errorf("find the probe's thread: %d are pinned to CPU %d", len(threads), cpu)
	}
	return threads[0].TID, nil
}

// The probe's thread calls these functions when it leaves the runtime or comes back, while
// another thread changes the state of its goroutine or has taken its P. Sysmon does so all
// the time to a goroutine that has made nothing but system calls for 10 ms
// (runtime/proc.go, retake, Go 1.26).
const (
	somebodyElse = "runtime.casgstatus"
	noLongerHasP = "runtime.exitsyscallTryGetP"
)

// takenEvery is the time between two looks at what was called.
const takenEvery = 20 * time.Millisecond

// taken returns when the runtime delayed the thread that is pinned to cpu.
func taken(cpu int, _ stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
	tid, err := pinnedTo(cpu)
	if err != nil {
		return nil, missingRights{err}
	}
	w, err := kernel.WatchThread(tid, somebodyElse, noLongerHasP)
	if err != nil {
		return nil, missingRights{err}
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	err = repeat(quit, takenEvery, func() error {
		return w.Read(func(c kernel.Hit) { truth = append(truth, stall.Span{Start: c.At, End: c.At + 1}) })
	})
	return truth, err
}

// repeat calls f again and again, d apart, until quit is closed, and once more then.
func repeat(quit <-chan struct{}, d time.Duration, f func() error) error {
	for {
		select {
		case <-quit:
			return f()
		case <-time.After(d):
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// collectEvery is the time between two collections.
const collectEvery = time.Millisecond

// collect forces garbage collections, and returns the spans that known takes
// from what was watched.
func collect(known func(*held) []stall.Span) work {
	return func(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
		h, err := watchHeld(cpu, clock)
		if err != nil {
			return nil, missingRights{err}
		}
		defer func() { err = errors.Join(err, h.close()) }()
		err = repeat(quit, collectEvery, func() error {
			runtime.GC()
			return h.read()
		})
		return known(h), err
	}
}
