// Package dotnetipc speaks the diagnostics IPC protocol of .NET: it finds the
// socket on which a runtime listens, asks the runtime for its identity, and opens a
// session whose stream of events, in the format nettrace, is the caller's to
// decode.
//
// The protocol is that of dotnet/diagnostics,
// documentation/design-docs/ipc-protocol.md, and of the runtime's
// src/native/eventpipe/ds-*.c. A client that can connect can dump the memory of
// the process, set its environment or load code into it; this package sends
// ProcessInfo, CollectTracing, StopTracing and ResumeRuntime, and nothing else.
//
// What will bite: one thread of the runtime serves all clients and reads from
// them without a deadline. If a client sends nothing, or half of a command, the runtime
// serves no other tool until that client closes. StopTracing has the same effect if the
// session's stream is not read. So a command is whole before the
// connection is made and goes out in one write, every read has a deadline, and
// [Session.Stop] is for callers that keep reading.
package dotnetipc
