package exact

import (
	"context"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Pause ends the slice that is being traced, and begins none until resume is called. It
// returns when the tracer is free. If ctx ends first, its error is returned and nothing
// stays paused.
func (x *Tracer) Pause(ctx context.Context) (resume func(), err error) {
	x.mu.Lock()
	x.holds++
	idle := x.idle // no slice can begin, so this one stays the right one
	x.mu.Unlock()
	x.nudge()
	resume = sync.OnceFunc(func() {
		x.mu.Lock()
		x.holds--
		x.mu.Unlock()
		x.nudge()
	})
	select {
	case <-idle:
		return resume, nil
	case <-ctx.Done():
		resume()
		return func() {}, ctx.Err()
	}
}

// nudge has the tracer's goroutine look at once.
func (x *Tracer) nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *Tracer) held() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.holds > 0
}

// want asks for a slice that goes on for at least d from now, whatever the
// budget says. The budget pays for it afterwards.
func (x *Tracer) want(d time.Duration) {
	x.mu.Lock()
	x.until = max(x.until, x.clock.Now().Add(d))
	x.mu.Unlock()
	x.nudge()
}

// demand returns how long a slice that began now would have to be for the readers that
// wait for one, 0 if there are none or the tracer is paused.
func (x *Tracer) demand() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holds > 0 {
		return 0
	}
	return max(0, x.until.Sub(x.clock.Now()))
}

// leave ends a reader of the trace. After the last one no slice goes on for longer than
// planned, whatever was asked for.
func (x *Tracer) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.readers.Add(-1) == 0 {
		x.until = 0
	}
}

// claim makes the tracer busy, unless it is paused.
func (x *Tracer) claim() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holds > 0 {
		return false
	}
	x.idle = make(chan struct{})
	return true
}

// serve says that s is being traced.
func (x *Tracer) serve(s *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stream = s
}

// release says that the tracer is free.
func (x *Tracer) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stream = nil
	close(x.idle)
}

// tap taps the slice that is being traced, for a reader that is there since then. The
// slice goes on for at least d from now. It returns nil if there is no slice, or none
// that takes another reader.
func (x *Tracer) tap(d time.Duration, since stall.Instant) (*tap, *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil {
		return nil, nil
	}
	t, ok := x.stream.tap(since)
	if !ok {
		return nil, nil
	}
	if t.joined {
		d += generationTime
	}
	x.until = max(x.until, x.clock.Now().Add(d))
	return t, x.stream
}

// retire reports whether the slice is over: at end, unless a reader wants it for
// longer, or at once where it failed. A slice that is over is not tapped.
func (x *Tracer) retire(end stall.Instant, failed bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	over := failed || x.holds > 0 || x.quitting() || x.clock.Now() >= max(end, x.until)
	if over {
		x.stream = nil
	}
	return over
}
