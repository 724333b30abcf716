//go:build (amd64 || arm64) && !noasm

package spin

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this build has the loops, on a thread and in the state of a
// system call.
const Supported = true

// BlockLen is the number of iterations between two looks at the stop flag.
const BlockLen = 1024

// The assembly has these offsets in it. An array of negative length does not
// compile.
var (
	_ [unsafe.Offsetof(Control{}.Records) - 32]byte
	_ [unsafe.Offsetof(Control{}.First) - 40]byte
	_ [unsafe.Offsetof(Control{}.Head) - 64]byte
	_ [unsafe.Offsetof(Control{}.DropMax) - 120]byte
	_ [unsafe.Offsetof(Control{}.Tail) - 128]byte
	_ [unsafe.Offsetof(Control{}.Stamps) - 136]byte
	_ [168 - unsafe.Offsetof(Control{}.Sleep)]byte
	_ [unsafe.Offsetof(Control{}.Tid) - 192]byte
	_ [192 - unsafe.Offsetof(Control{}.Tid)]byte
	_ [16 - unsafe.Sizeof(Record{})]byte
)

const (
	controlSize = 4096 // the control block, alone on its page
	stackSize   = 4096 // the loop uses no stack; the kernel wants an address
	recordsAt   = controlSize + stackSize
	cloneFlags  = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND |
		unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_CHILD_CLEARTID
)

// clone starts the loop on a new thread and returns its id, or -errno.
//
//go:noescape
func clone(flags, stack uintptr, control *Control, childTid *uint32) (tid int64)

// Thread is a running loop.
type Thread struct {
	Ring
	mem []byte
	tid int
}

// Start starts the thread of the loop on cpu, which waits for Begin. Gaps of at
// least threshold ticks go into a ring of n records, a power of two.
func Start(cpu int, threshold uint64, n int) (*Thread, error) {
	size := recordsAt + n*int(unsafe.Sizeof(Record{}))
	mem, err := mapOn(cpu, size)
	if err != nil {
		return nil, fmt.Errorf("map ring of %d gaps: %w", n, err)
	}
	_ = unix.Mlock(mem) // best effort: RLIMIT_MEMLOCK may forbid it, and the pages are hot anyway
	control := (*Control)(unsafe.Pointer(&mem[0]))
	records := unsafe.Slice((*Record)(unsafe.Pointer(&mem[recordsAt])), n)
	control.Threshold = threshold
	control.Records = uint64(uintptr(unsafe.Pointer(&mem[recordsAt])))
	control.Tid = 1
	t := &Thread{Ring: NewRing(control, records), mem: mem}
	if err := t.start(); err != nil {
		return nil, joinUnmap(err, mem)
	}
	if err := t.pin(cpu); err != nil {
		return nil, t.giveUp(err, time.Minute)
	}
	return t, nil
}

// Begin has the loop look for the first time.
func (t *Thread) Begin() { atomic.StoreUint64(&t.Go, 1) }

// start clones with every signal blocked, so that the thread is born so: a
// signal that the kernel delivered to it would run Go's handler without a g.
func (t *Thread) start() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	stack := uintptr(unsafe.Pointer(&t.mem[recordsAt-64])) &^ 15
	tid := clone(cloneFlags, stack, t.Control, &t.Tid)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) // undoes what has just worked
	if tid < 0 {
		return fmt.Errorf("clone probe thread: %w", unix.Errno(-tid))
	}
	t.tid = int(tid)
	return nil
}

func (t *Thread) pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(t.tid, &set); err != nil {
		return fmt.Errorf("pin probe thread to CPU %d: %w", cpu, err)
	}
	// The name is for ps; nothing depends on it.
	_ = os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", t.tid), []byte("otelgc-probe"), 0)
	return nil
}

// ID returns the thread's id.
func (t *Thread) ID() int { return t.tid }

// Halt makes the thread exit and waits until the kernel has let go of its
// memory. It reports false if that takes longer than patience: then the memory
// must stay mapped for ever.
func (t *Thread) Halt(patience time.Duration) bool {
	atomic.StoreUint64(&t.Stop, 1)
	deadline := time.Now().Add(patience)
	pause := 20 * time.Microsecond
	// CLONE_CHILD_CLEARTID: the kernel clears the word when the thread no
	// longer uses its memory, and takes it off the list of threads after that.
	for atomic.LoadUint32(&t.Tid) != 0 || unix.Tgkill(os.Getpid(), t.tid, 0) == nil {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
	return true
}

// Release unmaps the ring. Only after Halt returned true.
func (t *Thread) Release() error {
	if err := unix.Munmap(t.mem); err != nil {
		return fmt.Errorf("unmap ring: %w", err)
	}
	return nil
}

// giveUp ends a thread that is of no use for err. Under one that does not get a CPU
// to end on the memory stays: with every signal blocked a fault kills the process.
func (t *Thread) giveUp(err error, patience time.Duration) error {
	if !t.Halt(patience) {
		return fmt.Errorf("%w (and end thread %d: it has not in %v, %d bytes stay mapped)", err, t.tid, patience, len(t.mem))
	}
	return joinUnmap(err, t.mem)
}

func joinUnmap(err error, mem []byte) error {
	if e := unix.Munmap(mem); e != nil {
		return fmt.Errorf("%w (and unmap ring: %w)", err, e)
	}
	return err
}

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
