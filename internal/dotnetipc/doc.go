// Package dotnetipc speaks the diagnostics IPC protocol of .NET: it finds the
// socket on which a runtime listens, asks the runtime for its identity, and opens a
// session whose stream of events, in the format nettrace, is the caller's to
// decode.
//
// The protocol is that of dotnet/diagnostics,
// documentation/design-docs/ipc-protocol.md, and of the runtime's
// src/native/eventpipe/ds-*.c. Whoever may connect may dump the memory of the
// process, set its environment or load code into it; this package sends
// ProcessInfo, CollectTracing, StopTracing and ResumeRuntime, and nothing else.
//
// What will bite: one thread of the runtime serves all clients and reads from
// them without a deadline. A client that connects and says nothing, or half of
// a command, shuts every other tool out until it closes; so does StopTracing
// for a session whose stream is not read. So a command is whole before the
// connection is made and goes out in one write, every read has a deadline, and
// [Session.Stop] is for callers that keep reading.
package dotnetipc
