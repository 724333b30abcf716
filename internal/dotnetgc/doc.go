// Package dotnetgc turns the events of a .NET runtime into garbage collections
// and stops of the world. It knows payloads, and of streams what
// internal/nettrace hands it.
//
// The runtime sends its own events without names or fields, so the layouts are
// in here, by event id and version (runtime, src/coreclr/vm/ClrEtwAll.man and
// src/coreclr/gc/gcevents.h). A payload is read by prefix: later versions only
// append.
//
// What the model holds to, each of it seen in streams of .NET 3.0 to 10:
//
//  1. The world runs again at GCRestartEEBegin. GCRestartEEEnd is fired by a
//     thread that may have lost the CPU in between: it is an upper bound.
//  2. Stops are followed per thread. GCSuspendEEBegin is fired before the lock
//     is taken, so several threads may be suspending; one that backs off
//     restarts the world without ever having stopped it, and tries again.
//  3. GCStart may announce a background collection that then runs blocking.
//     What it was is in GCGlobalHeapHistory.
//  4. A stop can hold two collections: that of a background collection's start
//     often begins with an ephemeral one. It is charged once, to that.
//  5. GCHeapStats, GCGlobalHeapHistory and GCPerHeapHistory carry no number. An
//     ephemeral collection in a background one is complete within its own
//     stop; under server GC a background one's histories follow its end.
//  6. A stop for a collection need not hold one: where a no-GC region begins,
//     the runtime counts a collection that it does not make.
//  7. What began before the stream is no record, and a record that lacks a part
//     says which.
package dotnetgc
