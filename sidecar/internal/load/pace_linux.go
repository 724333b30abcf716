package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// pacer waits on a thread of its own: the runtime's timers wake up to 1 ms late
// (its network poller counts in milliseconds), which would be counted as the
// service's latency.
type pacer struct{ clock stall.Clock }

func newPacer(clock stall.Clock) (p pacer, stop func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	return pacer{clock}, func() {
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		runtime.UnlockOSThread()
	}
}

// longestNap bounds how long the end of ctx may go unnoticed.
const longestNap = 100 * time.Millisecond

func (p pacer) until(ctx context.Context, t stall.Instant) {
	for ctx.Err() == nil {
		d := t.Sub(p.clock.Now())
		if d <= 0 {
			return
		}
		nap := unix.NsecToTimespec(int64(min(d, longestNap)))
		_ = unix.Nanosleep(&nap, nil) // an interrupted nap is a shorter one
	}
}
