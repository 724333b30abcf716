// Package kernel says what the kernel did to one thread, and on the CPU it runs
// on, as spans of time: when the thread was switched out, when it had a page
// fault, when the CPU served interrupts. The kernel writes its records into
// rings while it happens; they are taken out in batches.
//
// It never says that nothing happened where records were lost: an [Account]
// tells whether it is complete. It names no cause either: what a gap is called is
// decided by package jitterprobe. The fields of the tracepoints are those of the
// kernel's include/trace/events.
package kernel
