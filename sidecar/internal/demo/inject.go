package demo

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A service that lives with little memory for what it keeps: after each collection it may
// allocate a quarter of its live heap until the next. GOGC, if it is set, says otherwise.
const littleMemory = 25

// What injected stops take: the stacks of so many goroutines are written, at this rate
// at most.
const (
	stopEvery  = 50 * time.Millisecond
	goroutines = 10_000
	stacks     = 64 << 20 // bytes, at most
	mostLate   = 100 * time.Millisecond
)

// prepare makes of this process what is to be seen.
func prepare(what Inject, s *shop) {
	s.collect = what == InjectForcedGC
	if what == InjectNone && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(littleMemory)
	}
}

// inject does to this process what was asked for until ctx ends, and returns how often
// that was done. It is what programs do to themselves: handlers that call runtime.GC, and
// watchdogs that dump all goroutines.
func inject(ctx context.Context, what Inject, s *shop) uint64 {
	n := uint64(0)
	if what == InjectSTW {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() { <-ctx.Done() })
		}
		defer all.Wait()
		text := make([]byte, stacks)
		every(ctx, stopEvery, func() {
			runtime.Stack(text, true)
			n++
		})
	}
	<-ctx.Done()
	return n + s.forced.Load()
}

// every calls do once in a period until ctx ends. It makes up for turns that were missed
// lately: a ticker would leave out a turn for each that takes a little too long. After a
// call it waits at least as long as the call took. So the program has half of the time,
// on a busy machine too, and learns of its end.
func every(ctx context.Context, period time.Duration, do func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begin := time.Now()
		do()
		took := time.Since(begin)
		due = due.Add(period)
		late := time.Since(due)
		if late > mostLate {
			due = due.Add(late - mostLate)
		}
		timer.Reset(max(-late, took))
	}
}

// hogsPerCPU is how many threads want each of the service's CPUs: its own
// threads get a third of the time.
const hogsPerCPU = 2

// hog keeps the CPUs that it may use busy until standard input ends.
func hog(o childOptions) error {
	ctx, stop := context.WithTimeout(context.Background(), o.Limit)
	defer stop()
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	n := hogsPerCPU * runtime.NumCPU()
	// One more, or the goroutine that waits for the end gets no turn.
	runtime.GOMAXPROCS(n + 1)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				for i := 0; i < 1_000_000; i++ {
				}
			}
		})
	}
	all.Wait()
	return nil
}
