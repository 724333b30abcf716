package jitterprobe

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/jitterprobe/internal/sysstate"
	"github.com/otelgc/otelgc/stall"
)

// periodicEngine wakes at absolute times and records how late.
type periodicEngine struct {
	source    *feed
	threshold uint64
	period    int64
	offset    int64 // Instant - Nanotime
	tid       int
	done      chan struct{}
}

func startPeriodic(cpu int, o Options) (engine, error) {
	if !sysstate.Supported {
		return startSleeper(o)
	}
	e := &periodicEngine{
		source:    newInstantFeed(o),
		threshold: uint64(o.Threshold),
		period:    int64(o.Period),
		done:      make(chan struct{}),
	}
	var width time.Duration
	e.offset, width = clockOffset(o.Clock)
	e.source.slack = o.Clock.Error() + width
	var err error
	if e.tid, err = startLocked(cpu, e.done, e.wake); err != nil {
		return nil, err
	}
	return e, nil
}

// clockOffset measures what turns Nanotime into an Instant, and its error.
// Both read one clock, so it stays.
func clockOffset(clock stall.Clock) (offset int64, width time.Duration) {
	best := int64(1 << 62)
	for range 16 {
		before := sysstate.Nanotime()
		at := clock.Now()
		if w := sysstate.Nanotime() - before; w < best {
			best, offset = w, int64(at)-before-w/2
		}
	}
	return offset, time.Duration(best/2 + 1)
}

func (e *periodicEngine) feed() *feed { return e.source }

func (e *periodicEngine) thread() int { return e.tid }

func (e *periodicEngine) begin() {}

func (e *periodicEngine) halt() bool {
	atomic.StoreUint64(&e.source.ring.Stop, 1)
	<-e.done
	return true
}

func (e *periodicEngine) release() {}

// wake is the loop. The thread dies with it, and the timer slack of the thread
// too: by default a wake-up may come 50 us late to save power.
func (e *periodicEngine) wake() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, wake-ups are later and say so
	r, iters := e.source.ring, uint64(0)
	now := sysstate.Nanotime()
	atomic.StoreUint64(&r.First, e.instant(now))
	atomic.StoreUint64(&r.Last, e.instant(now))
	deadline := now
	for atomic.LoadUint64(&r.Stop) == 0 {
		// What the last wake-up swallowed is not slept for again.
		deadline += e.period * max(1, (now-deadline+e.period-1)/e.period)
		woken, out := sysstate.Sleep(deadline)
		for woken < deadline { // a signal
			woken, out = sysstate.Sleep(deadline)
		}
		if late := uint64(woken - deadline); late < e.threshold {
			atomic.StoreUint64(&r.WholeTime, r.WholeTime+late)
		}
		e.push(deadline, woken, 0)
		e.push(woken, out, ring.Runtime)
		iters++
		atomic.StoreUint64(&r.Iters, iters)
		atomic.StoreUint64(&r.Last, e.instant(out))
		now = out
	}
}

func (e *periodicEngine) push(from, to int64, flag uint64) {
	if uint64(to-from) >= e.threshold {
		e.source.ring.Push(ring.Record{From: e.instant(from) | flag, To: e.instant(to)})
	}
}

func (e *periodicEngine) instant(nanos int64) uint64 { return uint64(nanos + e.offset) }
