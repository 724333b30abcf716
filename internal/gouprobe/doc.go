// Package gouprobe sees every stop of the world and every collection of a Go
// process from outside. The program needs no change: it may be stripped, and its
// file on disk may have been replaced.
//
// One uprobe_multi link (Linux 6.6) holds probes at two kinds of instructions of
// runtime.startTheWorldWithSema, which all stops come to:
//
//   - PUSHQ BP at its entry, which the kernel emulates: a hit costs some 1.2 us. The
//     arguments are in registers: whether the caller has taken the end of the pause
//     already (AX), the reason (BX), when the stop began (CX), and since Go 1.23 when
//     all goroutines were stopped (DI).
//   - RET: a hit costs some 10 us, behind the pause that the runtime counts. What
//     the function returns (AX) is the end of that pause.
//
// The instants are the runtime's own, so that pauses sum to its PauseTotalNs. The
// hit at the entry is part of the pause, and is in both.
//
// A collection begins with the stop for sweep termination and ends with that for
// mark termination whose end the caller has taken; another stop for mark
// termination is a retry. Nothing is known of what began it, nor of its heap.
//
// Collections are counted from the attach: the index of the first that ends
// after it is 1. When events are lost they are counted from 1 again, in another
// epoch.
//
// A stop is seen when it is over. The watermark stays 200 ms behind, and a stop that
// takes longer is reported late. Stops are kept in a ring of bounded size between two
// calls of Next: what finds no room is counted, and its time is unseen.
//
// The executable is read and probed by one descriptor of the file that the process
// runs, and only where the instructions are the very ones that the compiler writes.
// Its releases are in one table; any other, and any other kind of program, is refused.
// So is one whose profile (-pgo) made the compiler inline the function somewhere.
package gouprobe
