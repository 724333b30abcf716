// Package gotrace decodes Go execution traces (Go 1.22 to 1.26) as they
// stream, restricted to what stalls a program: stops of the world, collections,
// mark assists, sweeps, GC workers, and the states of the goroutines that
// carry a window.
//
// A trace is a sequence of generations, about one a second. [Reader.Next]
// returns one at a time. Strings and stacks of a generation are complete only
// at its end, so nothing is known earlier than that.
//
// How it works: batches are decoded as they arrive, each against the state of
// its own thread, and never merged into one order of events. What happened on
// one thread (a stop, a sweep, a worker's turn) is complete there. What moves
// between threads (a goroutine's states, an assist, a collection) is kept as
// edges that carry the format's own sequence numbers and is put in order at the
// end of the generation: exact even where two timestamps are equal.
//
// What it cannot see: EvSTWBegin is stamped before the runtime takes the
// scheduler's lock and EvSTWEnd after the world runs again, so a stop is longer
// than the runtime's own figure at both ends; [Stop.Restart] is when it ran again
// for others. The stop in which tracing starts
// ("start trace") begins before the trace does; only its last part is there.
// The time it took to stop the threads is not in a trace.
//
// Memory is bounded by [Limits]. What goes over a limit is an error where the
// stream can no longer be understood, and is counted in [Lost] otherwise.
// A broken stream yields an [Error] with the byte offset, never a panic.
//
// The format is defined by internal/trace/tracev2 of the Go source tree; names
// of events are those used there.
package gotrace
