package otelgc

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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

const (
	defaultTrace = time.Second // as net/http/pprof has it
	longestTrace = 5 * time.Minute
	// generationTime is about what a generation of the trace takes.
	generationTime = time.Second
	// tapWithin is how long a slice and its first generation are waited for.
	tapWithin = 10 * time.Second
)

// TraceHandler serves an execution trace of the program, as /debug/pprof/trace
// does, with the same parameter "seconds". The tracer has one user at a time;
// this handler shares the monitor's stream instead of failing, and asks for a
// slice if none is being traced. The trace begins and ends with a whole
// generation, about a second, so it is a little longer than asked for, and where
// it joins a slice it begins with the next one. It is the
// one for otelgc-sidecar report: only while somebody is served here do windows
// mark their ends in the trace.
func (m *Monitor) TraceHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		d := defaultTrace
		if s := r.FormValue("seconds"); s != "" {
			sec, err := strconv.ParseFloat(s, 64)
			if err != nil || !(sec > 0 && sec <= longestTrace.Seconds()) {
				http.Error(rw, fmt.Sprintf("parse seconds %q: want a number above 0, at most %v", s, longestTrace.Seconds()), http.StatusBadRequest)
				return
			}
			d = time.Duration(sec * float64(time.Second))
		}
		if m == nil || m.exact.budget == 0 {
			http.Error(rw, "exact fidelity is off: use net/http/pprof", http.StatusServiceUnavailable)
			return
		}
		if _, err := stall.NewClock(); err != nil { // the tracer would write to a channel of a bubble's
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
			return
		}
		m.exact.serveTrace(rw, r, d)
	})
}

// serveTrace taps one slice after the other until one has given it a generation:
// a slice may end, or be lost to a foreign Stop, before it has.
func (x *exact) serveTrace(rw http.ResponseWriter, r *http.Request, d time.Duration) {
	allowWriting(rw, r, d)
	x.readers.Add(1)
	defer x.leave()
	since := x.clock.Now() // windows mark their ends
	w := traceWriter{rw: rw, gone: r.Context().Done()}
	late := time.NewTimer(d + generationTime + tapWithin)
	defer late.Stop()
	for !w.begun {
		t, s, why := x.tapFor(d, since, w.gone, late.C)
		if t == nil {
			http.Error(rw, why, http.StatusServiceUnavailable)
			return
		}
		whole := d + generationTime // what is asked for ends inside a generation
		if t.joined {
			whole += generationTime // and begins after one
		}
		over := w.copyFrom(t, whole, late.C)
		x.report("tap_generation", "reader_slow", s.untap(t))
		if over {
			break
		}
	}
	if !w.begun {
		http.Error(rw, noGeneration, http.StatusServiceUnavailable)
	}
}

const (
	noSlice      = "the tracer is in use by somebody else, or paused: try again"
	noGeneration = "no generation of the trace was whole in time: try again when the machine is less busy"
	noTracing    = "exact fidelity has ended, as the error handler of OpenTelemetry was told: use net/http/pprof"
)

// allowWriting moves the server's write deadline, as net/http/pprof does.
func allowWriting(rw http.ResponseWriter, r *http.Request, d time.Duration) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		end := time.Now().Add(s.WriteTimeout + 2*(d+generationTime) + tapWithin)
		_ = http.NewResponseController(rw).SetWriteDeadline(end) // without it, the client sees what came until then
	}
}

// traceWriter writes generations to a client.
type traceWriter struct {
	rw    http.ResponseWriter
	gone  <-chan struct{} // closed when the client is
	begun bool
}

// copyFrom writes what comes of t within d, or a little more until something
// has. It reports whether that was all that there will be: false if t's slice
// ended first.
func (w *traceWriter) copyFrom(t *tap, d time.Duration, late <-chan time.Time) (over bool) {
	end := time.NewTimer(d)
	defer end.Stop()
	for !over || !w.begun {
		select {
		case data, ok := <-t.out:
			if !ok {
				return false
			}
			w.begin()
			if _, err := w.rw.Write(data); err != nil {
				return true
			}
		case <-end.C:
			over = true
		case <-late:
			if late = nil; !w.begun {
				return true
			}
		case <-w.gone:
			return true
		}
	}
	return true
}

func (w *traceWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.rw.Header().Set("X-Content-Type-Options", "nosniff")
	w.rw.Header().Set("Content-Type", "application/octet-stream")
	w.rw.Header().Set("Content-Disposition", `attachment; filename="trace"`)
}

// tapFor taps the slice that is being traced, or one that it asks for. Without
// one it says why.
func (x *exact) tapFor(d time.Duration, since stall.Instant, gone <-chan struct{}, late <-chan time.Time) (*tap, *stream, string) {
	d += 2 * generationTime
	x.want(d)
	retry, again := time.NewTicker(beat/4), time.NewTicker(generationTime)
	defer retry.Stop()
	defer again.Stop()
	for {
		if t, s := x.tap(d, since); t != nil {
			return t, s, ""
		}
		select {
		case <-retry.C:
		case <-again.C:
			x.want(d) // what was asked for may have been tried in vain
		case <-late:
			return nil, nil, noSlice
		case <-x.done:
			return nil, nil, noTracing
		case <-gone:
			return nil, nil, noSlice // nobody is there to read it
		}
	}
}
