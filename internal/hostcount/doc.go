// Package hostcount reads what the kernel counts of what the machine does to
// one process: major faults, how long its threads waited for a CPU, throttling
// of its cgroups, steal and pressure. It remembers the readings of late, so that
// it can say of a stretch of time what was counted around it.
//
// They are totals: which of its threads waited, and for what, is not in them
// (internal/hostwatch follows threads). It takes no right but to read /proc
// (proc(5)) and the cgroups (cgroups(7)), and no more than 64 KiB of each file.
package hostcount
