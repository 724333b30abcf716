// Package nettrace decodes nettrace streams as they arrive: what a .NET
// process sends over its diagnostics socket, and the files that
// DOTNET_EnableEventPipe=1, dotnet-trace and PerfView write. Formats 4, 5 and
// 6, with compressed and with plain event headers. It knows no garbage
// collection; payloads are handed out as bytes.
//
// The format is defined by microsoft/perfview, src/TraceEvent/EventPipe,
// NetTraceFormat_v5.md (4 and 5) and NetTraceFormat.md (6); names of fields are
// those used there.
//
// Order: a stream holds runs of events, one per thread and flush, that are
// ascending each and overlap in time. [Reader.Next] puts them in order of time,
// those of the same tick in order of arrival. It holds events back until the
// stream says that none before them can follow: an event with the sorted flag,
// which every flush has, or a sequence point. Of a live stream nothing is held
// back longer than a read takes: when a read times out, all is handed out (see
// [NewReader]).
//
// Loss: every thread numbers its events, and the runtime drops the newest ones
// when its buffers are full. A gap is an [Event] of its own, in its place in
// time: nothing is missing without a word.
//
// Stacks, activities and the label lists of format 6 are stepped over, also
// where a label list overrides the version of an event.
//
// Memory is bounded by [Limits]. A broken stream yields an [Error] with the
// byte offset, never a panic, after all events that were whole.
package nettrace
