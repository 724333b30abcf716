// Package gcwatch watches the garbage collections of this process: one batch
// per cycle, or per few cycles that came too fast, and none is missed.
//
// # What it reads
//
// A finalizer that re-arms itself says that a cycle is over. The watcher then
// reads runtime/metrics and [runtime/debug.ReadGCStats], which do not stop the
// world and, with their memory prepared, do not allocate. The finalizer is a
// hint: cycles are counted by the runtime's own counter, and a poll catches
// what the hint lost. The index of a collection, which is the Ref of its pauses, counts
// on from that counter.
//
// # What it knows, and what it does not
//
// The runtime keeps for each of the last 256 cycles the exact sum of its
// pauses and the wall time at which the last one ended. It keeps no place for
// the other pauses, and lengths only as buckets of a histogram. So:
//
//   - The end of mark termination is known. Its length is known within what
//     the buckets and the exact sum leave open; that is its slack.
//   - Sweep termination is known to lie between two readings; its slack covers
//     all of it.
//   - Where two readings enclose more than one cycle, a cycle has one pause
//     that holds the sum. Its slack covers every place of every part.
//
// Every record says so with [gc.FieldPauses] in its Estimated fields.
//
// The runtime's figures are shorter than what a goroutine suffers, at both
// ends: they begin after the scheduler's lock is taken, and the recorded end of
// mark termination is taken before the world is started again. The reading's
// own instant bounds that end ([gc.Pause.EndMax]): the reading ran, so the
// world did too.
//
// With GODEBUG=gcstoptheworld the runtime keeps the program's goroutines from
// running while it marks, but does not count that time as a pause, so neither
// do the figures here. The kind of such a cycle is [gc.FullBlocking].
package gcwatch
