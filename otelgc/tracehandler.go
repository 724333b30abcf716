package otelgc

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	defaultTrace = time.Second // as net/http/pprof has it
	longestTrace = 5 * time.Minute
	// generationTime is about what a generation of the trace takes.
	generationTime = time.Second
	// tapWithin is how long a slice, or its first generation, is waited for.
	tapWithin = 10 * time.Second
)

// TraceHandler serves an execution trace of the program, as /debug/pprof/trace
// does, with the same parameter "seconds". The tracer has one user at a time;
// this handler shares the monitor's stream instead of failing, and asks for a
// slice if none is being traced. The trace begins and ends with a whole
// generation, about a second, so it is a little longer than asked for.
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
		m.exact.serveTrace(rw, r, d)
	})
}

func (x *exact) serveTrace(rw http.ResponseWriter, r *http.Request, d time.Duration) {
	allowWriting(rw, r, d)
	t, s := x.tapFor(r, d)
	if t == nil {
		http.Error(rw, "the tracer is in use by somebody else", http.StatusServiceUnavailable)
		return
	}
	written := t.copyTo(rw, r, d+generationTime) // what is asked for ends inside a generation
	x.report("tap_generation", "reader_slow", s.untap(t))
	if !written {
		http.Error(rw, "the tracer was lost before a generation was whole", http.StatusServiceUnavailable)
	}
}

// allowWriting moves the server's write deadline, as net/http/pprof does.
func allowWriting(rw http.ResponseWriter, r *http.Request, d time.Duration) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		end := time.Now().Add(s.WriteTimeout + d + generationTime + tapWithin)
		_ = http.NewResponseController(rw).SetWriteDeadline(end) // without it, the client sees what came until then
	}
}

// copyTo writes what comes within d, or a little more until something has. It
// reports whether anything was written.
func (t *tap) copyTo(rw http.ResponseWriter, r *http.Request, d time.Duration) (written bool) {
	end, last := time.NewTimer(d), time.NewTimer(d+tapWithin)
	defer end.Stop()
	defer last.Stop()
	over := false
	for !over || !written {
		select {
		case data, ok := <-t.out:
			if !ok {
				return written
			}
			if !written {
				written = true
				rw.Header().Set("X-Content-Type-Options", "nosniff")
				rw.Header().Set("Content-Type", "application/octet-stream")
				rw.Header().Set("Content-Disposition", `attachment; filename="trace"`)
			}
			if _, err := rw.Write(data); err != nil {
				return written
			}
		case <-end.C:
			over = true
		case <-last.C:
			return written
		case <-r.Context().Done():
			return true // nobody is there to be told
		}
	}
	return written
}

// tapFor taps the slice that is being traced, or one that it asks for.
func (x *exact) tapFor(r *http.Request, d time.Duration) (*tap, *stream) {
	x.want(d + 2*generationTime)
	deadline := time.NewTimer(tapWithin)
	defer deadline.Stop()
	retry := time.NewTicker(beat / 4)
	defer retry.Stop()
	for {
		if s := x.current(); s != nil {
			if t, ok := s.tap(); ok {
				x.want(d + 2*generationTime)
				return t, s
			}
		}
		select {
		case <-retry.C:
		case <-deadline.C:
			return nil, nil
		case <-x.done:
			return nil, nil
		case <-r.Context().Done():
			return nil, nil
		}
	}
}
