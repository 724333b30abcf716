package otelgc

import (
	"context"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// PauseExact ends the slice that is being traced, if there is one, and begins
// none until resume is called, so that other users can have the runtime's
// tracer. It returns when the tracer is free of the monitor, in general at
// once; if ctx ends first, its error is returned and nothing stays paused.
func (m *Monitor) PauseExact(ctx context.Context) (resume func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	x := m.exact
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
func (x *exact) nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *exact) held() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.holds > 0
}

// want asks for a slice that goes on for at least d from now, whatever the
// budget says. The budget pays for it afterwards.
func (x *exact) want(d time.Duration) {
	x.mu.Lock()
	x.until = max(x.until, x.clock.Now().Add(d))
	x.mu.Unlock()
	x.nudge()
}

// demand returns how long a slice that began now would have to be for those who
// asked for one, 0 if there are none or the tracer is held.
func (x *exact) demand() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holds > 0 {
		return 0
	}
	return max(0, x.until.Sub(x.clock.Now()))
}

// leave is the end of one who read the trace: for the last of them nobody traces
// any longer, whatever was asked for.
func (x *exact) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.readers.Add(-1) == 0 {
		x.until = 0
	}
}

// claim makes the tracer busy, unless somebody holds it.
func (x *exact) claim() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holds > 0 {
		return false
	}
	x.idle = make(chan struct{})
	return true
}

// serve says that s is being traced.
func (x *exact) serve(s *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stream = s
}

// release says that the tracer is free.
func (x *exact) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stream = nil
	close(x.idle)
}

// tap taps the slice that is being traced, which goes on for at least d from
// now, for who reads since then. It returns nil if there is none, or none that
// takes another reader.
func (x *exact) tap(d time.Duration, since stall.Instant) (*tap, *stream) {
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

// retire reports whether the slice is over: at end, unless somebody wants it for
// longer, or at once where it failed. One that is over is nobody's to tap.
func (x *exact) retire(end stall.Instant, failed bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	over := failed || x.holds > 0 || x.quitting() || x.clock.Now() >= max(end, x.until)
	if over {
		x.stream = nil
	}
	return over
}
