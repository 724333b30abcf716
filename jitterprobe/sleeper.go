package jitterprobe

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/stall"
)

// sleeperThreshold is the least lateness that time.Sleep tells from its own: on
// some systems a timer has the grain of a tick, and the runtime adds its own.
const sleeperThreshold = 2 * time.Millisecond

// sleeper is Periodic where nothing better is to be had: an ordinary goroutine
// and time.Sleep. Its gaps are of the machine or of the runtime, nobody knows;
// they are called host.unknown with the scope of a CPU, which no join charges
// to anybody.
type sleeper struct {
	source    *feed
	threshold uint64
	period    time.Duration
	clock     stall.Clock
	quit      chan struct{}
	done      chan struct{}
}

func startSleeper(o Options) (engine, error) {
	e := newSleeper(o)
	go e.run()
	return e, nil
}

// note says what a sleeper cannot do.
func (e *sleeper) note() string {
	return fmt.Sprintf("time.Sleep: gaps from %v, machine and runtime not told apart", time.Duration(e.threshold))
}

func newSleeper(o Options) *sleeper {
	return &sleeper{
		source:    newInstantFeed(o),
		threshold: uint64(max(o.Threshold, sleeperThreshold)),
		period:    o.Period,
		clock:     o.Clock,
		quit:      make(chan struct{}),
		done:      make(chan struct{}),
	}
}

// newInstantFeed returns a feed whose records hold instants.
func newInstantFeed(o Options) *feed {
	return &feed{
		ring:  ring.New(new(ring.Control), make([]ring.Record, ring.Len(o.Ring))),
		clock: o.Clock, slack: o.Clock.Error(),
	}
}

func (e *sleeper) feed() *feed { return e.source }

func (e *sleeper) thread() int { return 0 }

func (e *sleeper) begin() {}

func (e *sleeper) halt() bool {
	close(e.quit)
	<-e.done
	return true
}

func (e *sleeper) release() {}

func (e *sleeper) run() {
	defer close(e.done)
	r, iters := e.source.ring, uint64(0)
	timer := time.NewTimer(e.period)
	defer timer.Stop()
	start := e.clock.Now()
	atomic.StoreUint64(&r.First, uint64(start))
	atomic.StoreUint64(&r.Last, uint64(start))
	for {
		deadline := start.Add(e.period)
		select {
		case <-e.quit:
			return
		case <-timer.C:
		}
		now := e.clock.Now()
		if now > deadline && uint64(now-deadline) >= e.threshold {
			r.Push(ring.Record{From: uint64(deadline), To: uint64(now)})
		}
		iters++
		atomic.StoreUint64(&r.Iters, iters)
		atomic.StoreUint64(&r.Last, uint64(now))
		start = e.clock.Now()
		timer.Reset(e.period)
	}
}
