// Package nettracetest writes nettrace streams for tests: formats 4, 5 and 6,
// with compressed and with plain event headers. It shares no code with the
// decoder, and is written from the format's definition (microsoft/perfview,
// src/TraceEvent/EventPipe, NetTraceFormat_v5.md and NetTraceFormat.md).
package nettracetest
