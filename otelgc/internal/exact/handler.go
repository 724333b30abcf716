package exact

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	defaultTrace = time.Second // as net/http/pprof has it
	longestTrace = 5 * time.Minute
	// generationTime is about what a generation of the trace takes.
	generationTime = time.Second
	// tapWithin is how long a slice and its first generation are waited for.
	tapWithin = 10 * time.Second
)

// ServeHTTP serves an execution trace of the program, see the TraceHandler of package
// otelgc. A nil Tracer has none.
func (x *Tracer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	d := defaultTrace
	if s := r.FormValue("seconds"); s != "" {
		sec, err := strconv.ParseFloat(s, 64)
		if err != nil || !(sec > 0 && sec <= longestTrace.Seconds()) {
			http.Error(rw, fmt.Sprintf("parse seconds %q: want a number above 0, at most %v", s, longestTrace.Seconds()), http.StatusBadRequest)
			return
		}
		d = time.Duration(sec * float64(time.Second))
	}
	if x == nil || x.gov.budget == 0 {
		http.Error(rw, "exact fidelity is off: use net/http/pprof", http.StatusServiceUnavailable)
		return
	}
	if _, err := stall.NewClock(); err != nil { // the tracer would write to a channel of a bubble's
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		return
	}
	x.serveTrace(rw, r, d)
}

// serveTrace taps one slice after the other until one has given it a generation:
// a slice may end, or be lost to a foreign Stop, before it has.
func (x *Tracer) serveTrace(rw http.ResponseWriter, r *http.Request, d time.Duration) {
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
		x.Observer.Dropped("tap_generation", "reader_slow", s.untap(t))
		if over {
			break
		}
	}
	if !w.begun {
		http.Error(rw, noGeneration, http.StatusServiceUnavailable)
	}
}

const (
	noSlice      = "the tracer is in use by another, or paused: try again"
	noGeneration = "no generation of the trace was whole in time: try again when the machine is less busy"
	noTracing    = "exact fidelity has ended, as reported to OpenTelemetry's error handler: use net/http/pprof"
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
func (x *Tracer) tapFor(d time.Duration, since stall.Instant, gone <-chan struct{}, late <-chan time.Time) (*tap, *stream, string) {
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
			return nil, nil, noSlice // the client is gone
		}
	}
}
