// Command causes injects what takes a CPU away and holds the causes that a probe
// names against what was injected, moment by moment: a cgroup's quota, a thread
// that competes for the CPU, SIGSTOP, page faults, timer interrupts, softirqs of
// packets, and the probing process's own garbage collector. Some of it is done again
// to a process that probes with fewer rights. It needs root on Linux.
package main
