package load

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Apart gives this process, which is the load generator, a CPU of its own: the first of
// those that it may use. It returns that and the others, which are for the service; no
// others if there is only one CPU. A thread that was pinned stays where it is. Back takes
// it back.
func Apart() (own int, others []int, back func(), err error) {
	var usual unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		return -1, nil, nil, fmt.Errorf("read affinity: %w", err)
	}
	own = -1
	for cpu := range 64 * len(usual) {
		switch {
		case !usual.IsSet(cpu):
		case own < 0:
			own = cpu
		default:
			others = append(others, cpu)
		}
	}
	if len(others) == 0 {
		return own, nil, func() {}, nil
	}
	var alone unix.CPUSet
	alone.Set(own)
	back = func() { _ = moveThreads(&alone, &usual) }
	if err := moveThreads(&usual, &alone); err != nil {
		back()
		return -1, nil, nil, err
	}
	return own, others, back, nil
}

// moveThreads moves the threads of this process that may use the CPUs of one set to those
// of another.
func moveThreads(from, to *unix.CPUSet) error {
	// A thread that was not reached yet may make another while the list is read.
	for range 3 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, t := range threads {
			var has unix.CPUSet
			tid, err := strconv.Atoi(t.Name())
			if err != nil || unix.SchedGetaffinity(tid, &has) != nil || has != *from {
				continue
			}
			if err := unix.SchedSetaffinity(tid, to); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("set affinity of thread %d: %w", tid, err)
			}
		}
	}
	return nil
}

// On calls f on a thread that may only use cpus, which a process that f starts inherits.
// With none it just calls f.
func On(cpus []int, f func() error) error {
	if len(cpus) == 0 {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &set)
	}
	if err != nil {
		return fmt.Errorf("pin thread to CPUs %v: %w", cpus, err)
	}
	return errors.Join(f(), unix.SchedSetaffinity(0, &before))
}
