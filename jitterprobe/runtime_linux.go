package jitterprobe

import (
	"runtime"
	"sync/atomic"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/jitterprobe/internal/sysstate"
	"github.com/otelgc/otelgc/jitterprobe/internal/tick"
	"golang.org/x/sys/unix"
)

// chunkLen is the number of looks between two returns to the runtime, about
// 2 us. A stop of the world shorter than a chunk is not seen; a longer chunk
// would miss more of them.
const chunkLen = 200

// runtimeEngine spins on a thread of this process, in syscall state.
type runtimeEngine struct {
	source    *feed
	threshold uint64
	done      chan struct{}
}

func startRuntime(cpu int, o Options) (engine, error) {
	timeline := newTimeline(o.Clock)
	e := &runtimeEngine{
		source: &feed{
			ring:     ring.New(new(ring.Control), make([]ring.Record, ring.Len(o.Ring))),
			timeline: timeline, clock: o.Clock, blockLen: chunkLen,
		},
		threshold: thresholdTicks(o.Threshold, timeline),
		done:      make(chan struct{}),
	}
	return startLocked(e, cpu, e.done, e.spin)
}

// startLocked runs loop on a locked thread of its own that is pinned to cpu,
// and waits until the pinning is known to have worked. The thread ends with
// the loop: a goroutine that exits locked takes its thread with it.
func startLocked(e engine, cpu int, done chan struct{}, loop func()) (engine, error) {
	ready := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		err := pinThread(cpu)
		if err == nil {
			err = blockPreemption()
		}
		ready <- err
		if err == nil {
			loop()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return e, nil
}

// blockPreemption keeps SIGURG off this thread. The runtime sends it to a
// goroutine that has run for 10 ms; here it could only make gaps, 10 us each.
func blockPreemption() error {
	var set unix.Sigset_t
	set.Val[0] = 1 << (uint(unix.SIGURG) - 1)
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

func (e *runtimeEngine) feed() *feed { return e.source }

func (e *runtimeEngine) halt() bool {
	atomic.StoreUint64(&e.source.ring.Stop, 1)
	<-e.done
	return true
}

func (e *runtimeEngine) release() {}

// spin is the loop. It never reads the counter anew between two chunks, so no
// time goes unseen.
func (e *runtimeEngine) spin() {
	r, prev, iters := e.source.ring, tick.Now(), uint64(0)
	atomic.StoreUint64(&r.First, prev)
	for atomic.LoadUint64(&r.Stop) == 0 {
		left, last, now, out := sysstate.Spin(prev, e.threshold, chunkLen)
		whole := left == 0
		if !whole {
			r.Push(ring.Record{From: last, To: now})
		}
		if out-now >= e.threshold {
			r.Push(ring.Record{From: now | ring.Runtime, To: out})
			iters++ // the read of out ended a gap
			whole = false
		}
		iters += chunkLen - left
		if !whole && left > 0 {
			iters++
		}
		if whole {
			atomic.StoreUint64(&r.Whole, r.Whole+1)
			atomic.StoreUint64(&r.WholeTime, r.WholeTime+out-prev)
		}
		atomic.StoreUint64(&r.Iters, iters)
		atomic.StoreUint64(&r.Last, out)
		prev = out
	}
}
