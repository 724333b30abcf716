package jitterprobe

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/jitterprobe/internal/sysstate"
	"github.com/otelgc/otelgc/jitterprobe/internal/tick"
)

// chunkLen is the number of looks between two returns to the runtime, about
// 2 us. A stop of the world shorter than a chunk is not seen; a longer chunk
// would miss more of them.
const chunkLen = 200

// runtimeEngine spins on a thread of this process, in syscall state.
type runtimeEngine struct {
	source    *feed
	threshold uint64
	tid       int
	begun     chan struct{}
	done      chan struct{}
}

func startRuntime(cpu int, o Options) (_ engine, err error) {
	timeline := newTimeline(o.Clock)
	e := &runtimeEngine{
		source: &feed{
			ring:     ring.New(new(ring.Control), make([]ring.Record, ring.Len(o.Ring))),
			timeline: timeline, clock: o.Clock, blockLen: chunkLen,
		},
		threshold: thresholdTicks(o.Threshold, timeline),
		begun:     make(chan struct{}),
		done:      make(chan struct{}),
	}
	if e.tid, err = startLocked(cpu, e.done, e.spin); err != nil {
		return nil, err
	}
	return e, nil
}

// startLocked runs loop on a locked thread of its own that is pinned to cpu,
// and waits until the pinning is known to have worked. The thread ends with
// the loop: a goroutine that exits locked takes its thread with it.
func startLocked(cpu int, done chan struct{}, loop func()) (tid int, err error) {
	ready := make(chan error)
	go onOwnThread(func() {
		defer close(done)
		tid = unix.Gettid()
		err := pinThread(cpu)
		if err == nil {
			err = blockSignals()
		}
		ready <- err
		if err == nil {
			loop()
		}
	})
	return tid, <-ready
}

// onOwnThread calls f on a thread that ends with it. The first thread of a process
// does not end, and what is set on it is what others take for the process's own:
// its affinity, its signals.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	apart := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(apart)
		f()
	}()
	<-apart // until then this goroutine keeps the first thread from being chosen again
	runtime.UnlockOSThread()
}

// signals are those that a thread of this process can do without: whoever sends
// one to the process reaches another thread. SIGURG the runtime sends to a
// goroutine that has run for 10 ms, SIGPROF to one that used so much CPU time.
// Here a handler could only make gaps, 10 us each, that look like the machine's.
var signals = [...]unix.Signal{
	unix.SIGURG, unix.SIGPROF, unix.SIGALRM, unix.SIGVTALRM, unix.SIGCHLD, unix.SIGHUP, unix.SIGINT,
	unix.SIGTERM, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGIO, unix.SIGCONT,
}

// blockSignals keeps signals off this thread.
func blockSignals() error {
	var set unix.Sigset_t
	for _, s := range signals {
		set.Val[0] |= 1 << (uint(s) - 1)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

func (e *runtimeEngine) feed() *feed { return e.source }

func (e *runtimeEngine) thread() int { return e.tid }

func (e *runtimeEngine) begin() { close(e.begun) }

func (e *runtimeEngine) halt() bool {
	atomic.StoreUint64(&e.source.ring.Stop, 1)
	<-e.done
	return true
}

func (e *runtimeEngine) release() {}

// spin is the loop. It never reads the counter anew between two chunks, so no
// time goes unseen.
func (e *runtimeEngine) spin() {
	<-e.begun
	r, prev, iters := e.source.ring, tick.Now(), uint64(0)
	atomic.StoreUint64(&r.First, prev)
	for atomic.LoadUint64(&r.Stop) == 0 {
		left, last, now, out := sysstate.Spin(prev, e.threshold, chunkLen)
		whole := left == 0
		if left == chunkLen { // the first look ended it: it began before the way out of the runtime
			last |= ring.Runtime
		}
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
