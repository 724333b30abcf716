// Package gotrace decodes Go execution traces (Go 1.22 to 1.26) as they
// stream, restricted to what stalls a program: stops of the world, collections,
// mark assists, sweeps, GC workers, and the states of the goroutines that
// carry a window, which a user log or a user task tells.
//
// A trace is a sequence of generations, about one a second. [Reader.Next]
// returns one at a time. Strings and stacks of a generation are complete only
// at its end, so nothing is known earlier than that.
//
// How it works: batches are decoded as they arrive, each against the state of
// its own thread, and never merged into one order of events. What happened on
// one thread (a stop, a sweep, a worker's turn) is complete there. Some
// things move between threads: a goroutine's states, an assist, a collection. Their
// changes are kept with the sequence numbers of the format, and sorted at the end of the
// generation: the order is exact even if two timestamps are equal.
//
// What it cannot see: the runtime stamps EvSTWBegin before it takes the scheduler's
// lock, and EvSTWEnd after the world runs again. So a stop is longer than the runtime's
// figure at both ends. [Stop.Restart] is when the other goroutines could run again. The stop in which tracing starts
// ("start trace") begins before the trace does; only its last part is there.
// The time it took to stop the threads is not in a trace.
//
// Where its clock is CLOCK_MONOTONIC, [Generation.Shared] says so.
//
// Memory is bounded by [Limits]. What goes over a limit is an error where the
// stream can no longer be understood, and is counted in [Lost] otherwise.
// A broken stream yields an [Error] with the byte offset, never a panic.
//
// The format is defined by internal/trace/tracev2 of the Go source tree; names
// of events are those used there.
package gotrace
