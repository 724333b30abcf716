// Package otelgc tells whether a slow request was slow because of the garbage
// collector, the Go scheduler, the machine, or the program itself.
//
// One call starts it:
//
//	m, err := otelgc.Start()
//	if err != nil { ... }
//	defer m.Shutdown(context.Background())
//	http.ListenAndServe(addr, m.Middleware(mux))
//
// It emits OpenTelemetry metrics and events about every collection and every
// stop of the world of this process, and lays them over the windows of its
// requests. It works at two fidelities. Cycle fidelity is always on and costs
// microseconds per collection. It also counts what the machine did: once a second and soon
// after collections, twenty times a second at most. The counting takes less than half a
// percent of a CPU, with a hundred threads too. Exact fidelity reads the process's own
// execution trace in slices, within a budget of CPU time ([WithExactBudget]).
//
// Work that is no HTTP request has a window by [Monitor.Begin]; gRPC calls have
// one by package otelgc/gcgrpc, and spans by package otelgc/spans, which needs no
// code where they are made. Exact fidelity follows the goroutine that carries a
// window, and those that [Join] it. It does not see what slows a program without
// stalling it: write barriers and caches lost to marking, and what C code does.
//
// Package otelgc/page shows all of it in a browser, live.
//
// The package uses the OpenTelemetry API only: which SDK and which exporter is
// the program's own choice, or that of package otelgc/otlp.
//
// What to know: the tracer of the runtime has one user at a time. While a slice
// is being traced, runtime/trace.Start and /debug/pprof/trace fail;
// [Monitor.TraceHandler] and [Monitor.PauseExact] are the ways around that.
package otelgc

// ScopeName is the name of the instrumentation scope.
const ScopeName = "github.com/otelgc/otelgc"

// Version is the version of the instrumentation.
const Version = "0.1.0-rc.1"
