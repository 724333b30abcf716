// Package tracefs finds the kernel's tracepoints: their numbers and where their
// fields are. It reads, and changes nothing: where no tracefs is mounted, one is
// mounted that no other process can see (fsopen(2), fsmount(2)) and that is gone with
// the descriptor. The files are those of Documentation/trace/events.rst; what comes
// of the points is read by package perf.
package tracefs
