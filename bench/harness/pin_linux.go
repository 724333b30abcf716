package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

const maxCPUs = 1024 // of unix.CPUSet

// CPUs returns the CPUs that a thread may use; 0 is the calling one.
func CPUs(tid int) (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(tid, &set) != nil {
		return nil
	}
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Split moves this process, which sends the load, to half of its CPUs. It returns
// the other half, which is for the service; nil if there is only one CPU.
func Split() (service []int, err error) {
	cpus := CPUs(0)
	if len(cpus) < 2 {
		return nil, nil
	}
	// A thread not reached yet may make another while the list is read.
	for range 3 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name())
			if err := PinThread(tid, cpus[len(cpus)/2:]...); err != nil && !errors.Is(err, unix.ESRCH) {
				return nil, err
			}
		}
	}
	return cpus[:len(cpus)/2], nil
}

// PinAround calls f on a thread that may only use cpus, which a process that f
// starts inherits. With nil it just calls f.
func PinAround(cpus []int, f func() error) error {
	if cpus == nil {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := CPUs(0)
	if err := PinThread(0, cpus...); err != nil {
		return err
	}
	return errors.Join(f(), PinThread(0, before...))
}

// PinThread pins a thread; 0 is the calling one.
func PinThread(tid int, cpus ...int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("pin thread %d to CPUs %v: %w", tid, cpus, err)
	}
	return nil
}
