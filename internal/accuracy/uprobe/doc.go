// Package uprobe has the kernel say when a thread of this program entered a
// function of the Go runtime, and with which arguments: the runtime's own word,
// in which no probe has a part. A call costs the thread about a microsecond; an
// execution trace would cost a thread that makes system calls all the time as
// much in each of them.
//
// It stands on the names, the arguments and the first instructions of functions
// of the Go runtime, and refuses what it does not find. Linux on amd64 only.
package uprobe
