//go:build (amd64 || arm64) && !noasm

package rawspin

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapOn maps memory that is near to cpu: the kernel takes it from the NUMA node of
// the thread that touches it first, and the probe would pay for each gap that it
// writes to another one's.
func mapOn(cpu, size int) (mem []byte, err error) {
	errOn := onCPU(cpu, func() {
		mem, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	})
	if errOn != nil {
		return nil, errOn
	}
	return mem, err
}

// onCPU calls f on a thread that runs on cpu meanwhile.
func onCPU(cpu int, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		var only, before unix.CPUSet
		only.Set(cpu)
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("read affinity: %w", err)
			return
		}
		if err := unix.SchedSetaffinity(0, &only); err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("pin thread to CPU %d: %w", cpu, err)
			return
		}
		f()
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread() // else the thread ends here, and does no harm
		}
		done <- nil
	}()
	return <-done
}
