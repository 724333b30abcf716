// Package sysstate runs code in the state that a goroutine has during a system
// call. The Go runtime then believes the thread to be in the kernel: a
// stop-the-world takes its P and does not wait for it, and nobody signals it.
// What the runtime does to the goroutine happens in exitsyscall: it waits there
// for the world to start again, and for a P.
//
// A loop of assembly in the ordinary state would hang the garbage collector,
// and even one that yields makes each stop-the-world of its service longer.
//
// It stands on runtime.entersyscall, runtime.entersyscallblock and runtime.exitsyscall, which the runtime
// keeps linkable for gVisor (see proc.go). The build tag noasm does without.
package sysstate
