// Command rest measures what a sidecar costs that has nothing to do: the CPU
// time of all its threads but the probe's own, and its memory, while it exports,
// alone and beside a Go and a .NET process. It needs Linux.
package main
