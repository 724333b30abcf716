package otelgc

import (
	"context"
	"net/http"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
)

// PauseExact ends the slice that is being traced, if there is one, and begins
// none until resume is called, so that other users can have the runtime's
// tracer. It returns when the tracer is free of the monitor, in general at
// once; if ctx ends first, its error is returned and nothing stays paused.
func (m *Monitor) PauseExact(ctx context.Context) (resume func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	return m.exact.Pause(ctx)
}

// TraceHandler serves an execution trace of the program, as /debug/pprof/trace
// does, with the same parameter "seconds". The tracer has one user at a time;
// this handler shares the monitor's stream instead of failing, and asks for a
// slice if none is being traced. The trace begins and ends with a whole
// generation, about a second, so it is a little longer than asked for, and where
// it joins a slice it begins with the next one. Serve it to otelgc-sidecar report:
// windows mark their ends in the trace only while this handler serves.
func (m *Monitor) TraceHandler() http.Handler {
	if m == nil {
		return (*exact.Tracer)(nil)
	}
	return m.exact
}
