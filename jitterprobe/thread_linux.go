package jitterprobe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const taskDir = "/proc/self/task"

// allowedCPUs returns the CPUs that the calling thread may run on, sorted.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read affinity: %w", err)
	}
	var cpus []int
	for cpu := range 8 * int(unsafe.Sizeof(set)) {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// pinThread keeps the calling thread on cpu.
func pinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// onThread calls f on a thread that is pinned to cpu, is kept from most signals, wakes
// up in time and ends with f, whose err says what of that failed. The first thread of a
// process does not end, and what is set on it is what others take for the process's own:
// its affinity, its signals. Without a CPU, -1, it calls f where it is.
func onThread(cpu int, f func(tid int, err error)) {
	if cpu < 0 {
		f(0, nil)
		return
	}
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		apart := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(apart)
			onThread(cpu, f)
		}()
		<-apart // until then this goroutine keeps the first thread from being chosen again
		runtime.UnlockOSThread()
		return
	}
	err := pinThread(cpu)
	if err == nil {
		err = blockSignals()
	}
	// By default a wake-up may come 50 us late to save power. If this fails, wake-ups are
	// later and say so.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	f(unix.Gettid(), err)
}

// signals are those that a thread of this process can do without: one that is sent to
// the process reaches another thread. SIGURG the runtime sends to a
// goroutine that has run for 10 ms, SIGPROF to one that used so much CPU time.
// Here a handler could only make gaps, 10 us each, that look like the machine's.
var signals = [...]unix.Signal{
	unix.SIGURG, unix.SIGPROF, unix.SIGALRM, unix.SIGVTALRM, unix.SIGCHLD, unix.SIGHUP, unix.SIGINT,
	unix.SIGTERM, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGIO, unix.SIGCONT,
}

// blockSignals keeps signals off this thread.
func blockSignals() error {
	var set unix.Sigset_t
	for _, s := range signals {
		set.Val[0] |= 1 << (uint(s) - 1)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

// Reserve keeps every other thread of this process off cpu: a probe sees
// nothing but its own service where both share a CPU. Call it after Start, for
// a probe may only start on a CPU that the process may use. Threads that may
// run nowhere else, such as the probe's, stay; threads made later inherit.
// restore gives the CPU back.
//
// The error is [ErrCPU] if the process may not use cpu, or nothing else.
func Reserve(cpu int) (restore func() error, err error) {
	allowed, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(allowed, cpu) {
		return nil, fmt.Errorf("reserve cpu %d: %w (allowed: %s)", cpu, ErrCPU, cpuList(allowed))
	}
	if len(allowed) == 1 {
		return nil, fmt.Errorf("reserve cpu %d: %w (it is the only one)", cpu, ErrCPU)
	}
	var without unix.CPUSet
	moved := make(map[int]unix.CPUSet)
	restore = func() error { return giveBack(cpu, moved) }
	err = eachThread(func(tid int) (bool, error) {
		var mask unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &mask); err != nil {
			return false, err
		}
		if !mask.IsSet(cpu) || mask.Count() == 1 {
			return false, nil
		}
		without = mask
		without.Clear(cpu)
		moved[tid] = mask
		return true, unix.SchedSetaffinity(tid, &without)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserve cpu %d: %w", cpu, err), restore())
	}
	return restore, nil
}

// giveBack adds cpu to the masks that Reserve took it from, and to those of the
// threads that were made since.
func giveBack(cpu int, moved map[int]unix.CPUSet) error {
	inherited := make(map[unix.CPUSet]bool)
	for _, mask := range moved {
		mask.Clear(cpu)
		inherited[mask] = true
	}
	err := eachThread(func(tid int) (bool, error) {
		var mask unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &mask); err != nil {
			return false, err
		}
		if !inherited[mask] {
			return false, nil
		}
		mask.Set(cpu)
		return true, unix.SchedSetaffinity(tid, &mask)
	})
	if err != nil {
		return fmt.Errorf("give back cpu %d: %w", cpu, err)
	}
	return nil
}

// reservePasses bounds how often eachThread looks for threads that a thread it
// had not reached yet has made meanwhile.
const reservePasses = 100

// eachThread calls f for every thread of this process until a pass over all of
// them changes none. Threads that end meanwhile are no error.
func eachThread(f func(tid int) (changed bool, err error)) error {
	for range reservePasses {
		entries, err := os.ReadDir(taskDir)
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		again := false
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			changed, err := f(tid)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("set affinity of thread %d: %w", tid, err)
			}
			again = again || changed
		}
		if !again {
			return nil
		}
	}
	return nil
}
