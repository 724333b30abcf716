package pin

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

const maxCPUs = 1024 // of unix.CPUSet

func allowed() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Process keeps every thread of this process on cpus; nil changes nothing.
// Threads made later inherit it.
func Process(cpus []int) error {
	if cpus == nil {
		return nil
	}
	set := mask(cpus)
	// A thread not reached yet may make another while the list is read.
	for range 3 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("pin thread %d to CPUs %v: %w", tid, cpus, err)
			}
		}
	}
	return nil
}

// Around calls f on a thread that may only use cpus, so that a process which f
// starts has them from its first instruction. With nil it just calls f.
func Around(cpus []int, f func() error) error {
	if cpus == nil {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read affinity: %w", err)
	}
	set := mask(cpus)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin thread to CPUs %v: %w", cpus, err)
	}
	err := f()
	if back := unix.SchedSetaffinity(0, &before); back != nil {
		return errors.Join(err, fmt.Errorf("restore affinity: %w", back))
	}
	return err
}

func mask(cpus []int) unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return set
}
