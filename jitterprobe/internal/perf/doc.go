// Package perf reads the kernel's records of a thread or of a CPU through
// perf_event_open(2): context switches, page faults and tracepoints, each with
// its time on CLOCK_MONOTONIC, written by the kernel into a ring that this
// process maps. What happens costs the thread it happens to a few hundred
// nanoseconds, and no thread a system call. Records are those of <linux/perf_event.h>;
// what a tracepoint's fields mean is not known here.
package perf
