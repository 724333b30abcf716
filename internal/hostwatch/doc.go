// Package hostwatch measures what the machine does to the threads of one
// process, from outside: how long they were ready to run and did not.
//
// With CAP_BPF and CAP_PERFMON it follows every wake-up and context switch of
// the process (tracepoints sched_waking, sched_wakeup, sched_wakeup_new,
// sched_switch), on CLOCK_MONOTONIC. A thread is ready from sched_waking on:
// sched_wakeup may come only when another CPU has heard of it, which a hypervisor
// may have to wake first. From them follow four kinds of time:
//
//   - denied: some thread was ready, and none ran. Whatever the program was at,
//     the machine held it up: an interval of cause host.preempted, or
//     host.throttled where the cgroup was throttled for as long, or host.unknown
//     where it may have been and cannot be seen from here.
//   - mixed: some thread was ready while others ran. From outside it is not known
//     which thread carries which request, so neither is whether it was held up.
//   - paged: some thread waited for the disk, none ran or was ready, and major
//     faults were counted meanwhile: an interval of cause host.fault. A fault
//     counts when it is over, so one may be too late for its wait, and is missed.
//     What a batch saw of a wait that goes on at its end is then not covered.
//   - left alone: no thread was ready without running. What the program did then
//     is its own.
//
// Time is covered where it is denied, paged or left alone. Mixed time, lost
// events, and time in which the hypervisor admits to have stolen, or a page may
// have come from disk while another thread ran, are not covered: then the
// program may have been held up unseen. Nor is time in which a signal, a debugger
// or the freezer of its cgroup stopped a thread: that was neither the machine
// nor the program. A thread that sleeps is frozen without an event, so
// that a freezing that begins and ends between two batches is missed.
//
// Without these rights, and outside of the initial PID namespace, there are
// totals only, from /proc and the cgroup, and nothing is covered.
//
// What no kernel event shows, a hypervisor that says nothing of what it takes,
// or firmware, is not seen here; a probe on the same machine sees it.
package hostwatch
