package demo

import (
	"context"
	"os"
	"runtime"
	"time"
)

// The time between two injected stops. 62 collections a second take about half
// of one CPU with the default heap; a stop without a collection takes far less.
const (
	forceEvery = 16 * time.Millisecond
	stopEvery  = 2 * time.Millisecond
	mostLate   = 100 * time.Millisecond
)

// psToMark are enough for the collector to have one to itself, a quarter, while
// it marks.
const psToMark = 4

// makeRoomToMark gives a service in which collections are forced the Ps of a
// larger machine, unless GOMAXPROCS says otherwise. With one P, collector and
// requests take turns on it: who waits for the one waits for the other, and what
// is shown is how a program fares that has too few.
func makeRoomToMark(what Inject) {
	if what == InjectForcedGC && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(psToMark, runtime.GOMAXPROCS(0)))
	}
}

// inject does to this process what was asked for until ctx ends, and returns
// how often it did. What it does is what programs do to themselves: agents that
// call ReadMemStats, and code that thinks it knows when to collect.
func inject(ctx context.Context, what Inject) uint64 {
	var stop func()
	var every time.Duration
	switch what {
	case InjectForcedGC:
		stop, every = runtime.GC, forceEvery
	case InjectSTW:
		var stats runtime.MemStats
		stop, every = func() { runtime.ReadMemStats(&stats) }, stopEvery
	default:
		<-ctx.Done()
		return 0
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now()
	for n := uint64(0); ; n++ {
		// Who was held up makes up for it, as far as he was held up lately: a ticker
		// would leave out a turn for each that is a little too long.
		next = next.Add(every)
		if late := time.Since(next); late > mostLate {
			next = next.Add(late - mostLate)
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return n
		case <-timer.C:
			stop()
		}
	}
}
