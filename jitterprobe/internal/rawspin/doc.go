// Package rawspin runs the probe's loop on a thread that the Go runtime does
// not know: made by clone(2), born with all signals blocked, running nothing
// but assembly. It has no goroutine and no P, so stop-the-world neither waits
// for it nor stops it, no SIGURG hits it, and it sees what the machine does to
// its CPU and nothing else.
//
// On linux/arm64 the code builds; nobody has run it there so far.
package rawspin
