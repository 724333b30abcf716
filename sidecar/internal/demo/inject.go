package demo

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"
)

// The time between two injected stops, by what is injected: 80 collections a
// second, 500 stops.
const (
	forceEvery = 12500 * time.Microsecond
	stopEvery  = 2 * time.Millisecond
	mostLate   = 100 * time.Millisecond
)

const (
	forcesPerSecond = float64(time.Second) / float64(forceEvery)
	// enoughForces a second make a service in which the collector is to blame.
	// Of fewer the report warns. More are asked for, because a machine that is short
	// of CPU leaves out turns.
	enoughForces = 50
)

// forcers is the number of goroutines that force collections. One alone would wait
// until the last span is swept, because runtime.GC returns no sooner, and yields for
// each; of several, the next one sweeps the rest in one go and collects.
//
// Each has a thread of its own. At its end runtime.GC yields until all sweepers are
// done, up to ten thousand times, while the thread that ends the collection waits for
// the CPU that the yields take. A goroutine with its own thread sleeps in each yield.
const forcers = 2

// psToMark is how many Ps let requests go on while the collector marks, for which two
// workers have a P each throughout. All share one CPU. As measured, a request that waits
// during a collection waits more often for a P without a CPU, or for earlier requests,
// than for the collector if there are one or two Ps; as often with three or four; and
// less often with eight. Each of the two stops of a collection, and the barrier before
// the second, waits until the thread of every P had its turn: that is the collector's, too.
const psToMark = 8

// makeRoomToMark gives a service in which collections are forced the Ps of a
// larger machine, unless GOMAXPROCS is set. With one P, collector and requests take
// turns on it, so the demo would show a program that has too few Ps. With two it would
// now and then.
func makeRoomToMark(what Inject) {
	if what == InjectForcedGC && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(psToMark, runtime.GOMAXPROCS(0)))
	}
}

// inject does to this process what was asked for until ctx ends, and returns
// how often that was done. It is what programs do to themselves: agents that
// call ReadMemStats, and code that thinks it knows when to collect.
func inject(ctx context.Context, what Inject) uint64 {
	switch what {
	case InjectForcedGC:
		return force(ctx)
	case InjectSTW:
		n := uint64(0)
		var stats runtime.MemStats
		every(ctx, stopEvery, func() {
			runtime.ReadMemStats(&stats)
			n++
		})
		return n
	}
	<-ctx.Done()
	return 0
}

// force forces collections, and returns how many the runtime made of it: those
// that wait for one that has not begun yet share it. Turns for which no forcer was
// free are made up for, as far as they were due lately.
func force(ctx context.Context) uint64 {
	before := readCounter(forcedMetric)
	due := make(chan struct{}, mostLate/forceEvery)
	var all sync.WaitGroup
	for range forcers {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range due {
				if ctx.Err() == nil {
					runtime.GC()
				}
			}
		})
	}
	every(ctx, forceEvery, func() {
		select {
		case due <- struct{}{}:
		default:
		}
	})
	close(due)
	all.Wait()
	return readCounter(forcedMetric) - before
}

// every calls do at a fixed rate until ctx ends. It makes up for turns that were missed
// lately: a ticker would leave out a turn for each that takes a little too long.
func every(ctx context.Context, period time.Duration, do func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := time.Now(); ; {
		next = next.Add(period)
		if late := time.Since(next); late > mostLate {
			next = next.Add(late - mostLate)
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			do()
		}
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
