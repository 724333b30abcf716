// Package jitterprobe sees the machine take a CPU away: a loop that does
// nothing but read a clock, and says when it was kept from doing so.
//
// A probe runs in one of three modes.
//
//   - [Spin] watches one CPU from a thread that the Go runtime does not know,
//     at about ten nanoseconds per look. It costs that CPU. It sees the machine
//     alone: no garbage collection of its own process stops it.
//   - [Runtime] spins on a thread of this Go process, in the state of a system
//     call, so that it delays no stop-the-world but is stopped by it. It tells
//     gaps of the machine from stops of the runtime, and costs a CPU too. The
//     runtime takes its P away as often as it looks, some thousand times a second
//     (sysmon, Go 1.26): microseconds each, and none of the service's.
//   - [Periodic] wakes once per millisecond and measures how late. It costs a
//     few percent of a CPU and misses whatever falls between two wake-ups.
//
// Spinning needs Linux on amd64 or arm64 (the latter has run under an emulator only), a
// cycle counter that the kernel itself trusts, a second CPU, and no cgroup
// quota; elsewhere a probe degrades to Periodic, and [Probe.Note] says
// why.
//
// Each gap has a cause and the [Evidence] that decided it, from what the kernel
// recorded of the probe's thread and its CPU; the thread itself is not asked.
// Without the rights to read these records, a cause is named only as far as the other
// evidence shows it, and never guessed. [Probe.Limits] lists the causes that are affected,
// and the mend.
//
// A Probe is a [source.Source]; [Probe.All] yields its gaps; [Probe.Snapshot]
// counts them in a histogram.
//
// Every gap has its true start and end on the clock of package stall. A probe
// never stops measuring and never blocks: what finds its ring full is counted
// with its length, and lowers [Snapshot.Covered].
package jitterprobe
